package query

import (
	"context"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
)

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

// eachOf calls f with ascending rows of a table, which it reads in one go.
func eachOf[T any, R int64 | uint32](ctx context.Context, d *dataset.Dataset, table string, rows []R,
	f func(row R, t *T)) error {
	row := rows[0]
	for t, err := range dataset.Each[T](ctx, d, table, RangeOf(rows)) {
		if err != nil {
			return err
		}
		if _, wanted := slices.BinarySearch(rows, row); wanted {
			f(row, t)
		}
		row++
	}
	return nil
}
