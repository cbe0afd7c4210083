package group

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset"
)

// batch is some examples' rows on their way from the reader to the writer.
type batch struct {
	rows  []row
	first []int64 // of each example, in the base
	end   []int   // of each example, in rows
}

const (
	batchRows = 2048
	batches   = 3 // one being read, one being written, one between
)

// examples calls f with each run of neighbouring rows of one example, in
// order, while the next rows are read. f may keep the rows only until it
// returns.
func examples(ctx context.Context, d *dataset.Dataset, slice dataset.Range, f func(first int64, rows []row) error) error {
	full, free := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- &batch{}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(full)
		return read(ctx, d, slice, full, free)
	})
	g.Go(func() error {
		for b := range full {
			from := 0
			for i, end := range b.end {
				if err := f(b.first[i], b.rows[from:end]); err != nil {
					return err
				}
				from = end
			}
			clear(b.rows) // the next batch has strings and pointers of its own
			*b = batch{b.rows[:0], b.first[:0], b.end[:0]}
			free <- b
		}
		return ctx.Err()
	})
	return g.Wait()
}

// read fills batches with whole examples.
func read(ctx context.Context, d *dataset.Dataset, slice dataset.Range, full chan<- *batch, free <-chan *batch) error {
	var b *batch
	send := func() error {
		select {
		case full <- b: // never blocks: it holds every batch there is
			b = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := dataset.Groups(ctx, d, "", slice, func(r *row) string { return r.ExampleID }, func(first int64, rows []row) error {
		if b == nil {
			select {
			case b = <-free:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b.rows = append(b.rows, rows...)
		b.first, b.end = append(b.first, first), append(b.end, len(b.rows))
		if len(b.rows) < batchRows {
			return nil
		}
		return send()
	})
	if err != nil || b == nil {
		return err
	}
	return send()
}
