package group

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset"
)

// batch is rows of some groups on their way from the reader to the writer.
type batch struct {
	rows []row
	runs []groupRun
}

// groupRun is adjacent rows of one group.
type groupRun struct {
	first int64 // in the base
	key   string
	end   int // in the batch's rows
}

const (
	batchRows = 2048
	batches   = 3 // one being read, one being written, one between
)

// readRuns calls f with each run of adjacent rows of one group, in order, while the
// next rows are being read. f may keep the rows only until it returns.
func readRuns(ctx context.Context, in *input, slice dataset.Range, f func(first int64, key string, rows []row) error) error {
	full, free := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- &batch{}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(full)
		rows, err := openKeyed(ctx, in, slice, (*row).of)
		if err != nil {
			return err
		}
		defer rows.close()
		return (&batchReader{ctx: ctx, rows: rows, full: full, free: free, next: slice.First}).read()
	})
	g.Go(func() error {
		for b := range full {
			from := 0
			for _, r := range b.runs {
				if err := f(r.first, r.key, b.rows[from:r.end]); err != nil {
					return err
				}
				from = r.end
			}
			clear(b.rows) // the next batch has strings and pointers of its own
			b.rows, b.runs = b.rows[:0], b.runs[:0]
			free <- b
		}
		return ctx.Err()
	})
	return g.Wait()
}

// batchReader fills batches with whole runs.
type batchReader struct {
	ctx  context.Context
	rows *keyed[row]
	full chan<- *batch
	free <-chan *batch
	next int64 // row of the base
	b    *batch
}

func (c *batchReader) read() error {
	buf := make([]row, 256)
	for {
		n, err := c.rows.read(buf)
		for i := range buf[:n] {
			if err := c.add(&buf[i], c.rows.key(i, &buf[i])); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if c.b == nil {
		return nil
	}
	return c.send()
}

func (c *batchReader) add(r *row, key string) error {
	if !c.continues(r, key) {
		if c.b != nil && len(c.b.rows) >= batchRows {
			if err := c.send(); err != nil {
				return err
			}
		}
		if c.b == nil {
			select {
			case c.b = <-c.free:
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
		c.b.runs = append(c.b.runs, groupRun{first: c.next, key: key})
	}
	c.b.rows = append(c.b.rows, *r)
	c.b.runs[len(c.b.runs)-1].end = len(c.b.rows)
	c.next++
	return nil
}

// continues reports whether a row belongs to the last row's group.
func (c *batchReader) continues(r *row, key string) bool {
	return c.b != nil && c.b.runs[len(c.b.runs)-1].key == key && c.b.rows[len(c.b.rows)-1].Epoch == r.Epoch
}

func (c *batchReader) send() error {
	select {
	case c.full <- c.b: // never blocks: it holds every batch there is
		c.b = nil
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}
