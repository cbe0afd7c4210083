package query

import (
	"context"
	"iter"
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

// Texts calls f with columns of rows of a dataset, which are in any order; f is called by one
// goroutine at a time and in another order.
func Texts[R int64 | uint32](ctx context.Context, d *dataset.Dataset, rows []R, f func(row R, of *Row), columns ...string) error {
	apart := R(max(1, readAcross*d.Rows/max(1, d.Bytes)))
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(textReads)
	for near := range Near(sorted, apart) {
		all.Go(func() error {
			for r, err := range rowsOf(ctx, d, d, RangeOf(near), columns) {
				if err != nil {
					return err
				}
				if _, wanted := slices.BinarySearch(near, R(r.Number)); wanted {
					mu.Lock()
					f(R(r.Number), r)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// Near yields rows in pieces that are worth reading in one go: those that ascend by at most so many.
func Near[R int64 | uint32](rows []R, gap R) iter.Seq[[]R] {
	return func(yield func([]R) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n] > rows[n-1] && rows[n]-rows[n-1] <= gap {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// RangeOf returns the range of ascending rows.
func RangeOf[R int64 | uint32](rows []R) dataset.Range {
	return dataset.Range{First: int64(rows[0]), Rows: int64(rows[len(rows)-1]-rows[0]) + 1}
}
