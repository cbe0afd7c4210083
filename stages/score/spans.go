package score

import (
	"context"
	"runtime"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
)

// If all rewards are immediate, workers read spans of the base themselves: with one
// reader and batches of whole groups, as for other rewards, thin rows take 1.5 times
// the processor time (rollmill score of 1,000,000 rows of testdata/bench, one
// expression); rows of 20 messages take the same.

// A span has spanRows rows or more: whole row groups of the base, unless one has
// more than maxSpanRows. Its scores are in memory together.
const (
	spanRows    = 2048
	maxSpanRows = 16384
)

// immediate reports whether all rewards are.
func (b rewardSet) immediate() bool {
	return !slices.ContainsFunc(b, func(c component) bool { return !c.Immediate })
}

// readers returns how many workers read the base, each some of its spans. There is
// one where to skip rows costs as much as to read them: in an object store, or
// within large row groups; and for scores of which the base has more rows.
func (p *pipeline) readers() int {
	in := p.in
	if in.copies != nil && in.copies.extended || !in.base.Local() || in.scores != nil && !in.scores.Local() ||
		in.copies != nil && !in.copies.Local() {
		return 1
	}
	for _, part := range in.base.PartsOf("") {
		for _, rows := range part.RowGroups {
			if rows > maxSpanRows {
				return 1
			}
		}
	}
	return min(p.workers, runtime.GOMAXPROCS(0))
}

// spans cuts the slice at row groups of the base.
func (p *pipeline) spans(_ context.Context, next func(*job) error) error {
	span, end := dataset.Range{First: p.slice.First}, p.slice.First+p.slice.Rows
	cut := func(rows int64) error {
		span.Rows += rows
		for span.Rows >= spanRows || span.Rows > 0 && span.First+span.Rows == end {
			j := &job{span: dataset.Range{First: span.First, Rows: min(span.Rows, maxSpanRows)}}
			if err := next(j); err != nil {
				return err
			}
			span.First, span.Rows = span.First+j.span.Rows, span.Rows-j.span.Rows
		}
		return nil
	}
	first := int64(0)
	for _, part := range p.in.base.PartsOf("") {
		for _, rows := range part.RowGroups {
			from, to := max(first, p.slice.First), min(first+rows, end)
			if first += rows; from >= to {
				continue
			}
			if err := cut(to - from); err != nil {
				return err
			}
		}
	}
	return nil
}

// workSpans reads and scores spans, of which each worker gets later and later ones.
func (p *pipeline) workSpans(ctx context.Context, todo <-chan *job) error {
	source, err := openSource(ctx, p.in, p.slice, p.rewards)
	if err != nil {
		return err
	}
	defer source.close()
	source.reuse()
	for j := range todo {
		if err := source.skip(j.span.First); err != nil {
			return err
		}
		j.buffer = p.buffer(int(j.span.Rows))
		for left := int(j.span.Rows); left > 0; {
			rows, err := source.read(min(left, p.batch))
			if err != nil {
				return err
			}
			if left -= len(rows); len(rows) == 0 {
				return source.short(j.span)
			}
			if err := p.score(ctx, j, rows); err != nil {
				return err
			}
		}
		close(j.done)
	}
	return ctx.Err()
}
