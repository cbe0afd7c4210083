package query

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset"
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
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n]-sorted[n-1] <= max(1, apart) {
			n++
		}
		near := sorted[:n]
		sorted = sorted[n:]
		all.Go(func() error {
			row := near[0]
			r := dataset.Range{First: int64(row), Rows: int64(near[len(near)-1]-row) + 1}
			for t, err := range dataset.Each[texts](ctx, x.From.Base, "", r) {
				if err != nil {
					return err
				}
				if _, wanted := slices.BinarySearch(near, row); wanted {
					mu.Lock()
					f(row, t.Example, t.Answer)
					mu.Unlock()
				}
				row++
			}
			return nil
		})
	}
	return all.Wait()
}
