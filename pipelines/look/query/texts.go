package query

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// How the texts of a page's rows are read.
const (
	readAcross = 128 << 10 // bytes of rows between two that are read in one go
	textReads  = 8         // at a time
)

// Texts calls f with the example and the answer of rows, which are in any order; f is
// called by one goroutine at a time and in another order.
func (x *Index) Texts(ctx context.Context, rows []uint32, f func(row uint32, example, answer string)) error {
	type texts struct {
		Example string `parquet:"example"`
		Answer  string `parquet:"answer,optional"`
	}
	apart := uint32(readAcross * x.From.Base.Rows / max(1, x.From.Base.Bytes))
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(textReads)
	for near := range Near(sorted, max(1, apart)) {
		all.Go(func() error {
			return eachOf(ctx, x.From.Base, "", near, func(row uint32, t *texts) {
				mu.Lock()
				defer mu.Unlock()
				f(row, t.Example, t.Answer)
			})
		})
	}
	return all.Wait()
}
