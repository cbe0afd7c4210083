package dataset

import (
	"context"

	"github.com/rollmill/rollmill/formats/parquet"
)

// NewPayloadReader reads rows of the main table of a wide dataset with only those
// columns of their payload for which keep returns true: the others are neither
// fetched nor decoded. A column's name is that of columns.md. From files of
// another tool it reads all.
func NewPayloadReader[T any](ctx context.Context, d *Dataset, r Range, keep func(column string) bool) (*Reader[T], error) {
	rd, err := NewReader[T](ctx, d, "", r)
	if err != nil || d.plain != nil {
		return rd, err
	}
	rd.rows = rowsBy(func(f *parquet.File, first, rows int64) (*parquet.Reader[T], error) {
		return parquet.NewPartReader[T](f, first, rows, keep)
	}, true)
	return rd, nil
}
