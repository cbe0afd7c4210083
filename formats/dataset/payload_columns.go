package dataset

import (
	"context"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
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
	rd.rows = func(f *parquet.File, first, rows int64) (rowReader[T], error) {
		return parquet.NewPartReader[T](f, first, rows, keep)
	}
	return rd, nil
}

// ColumnNames returns the columns of a dataset's own rows: those of its first part, or,
// without one and for files of another tool, all that its kind has.
func (d *Dataset) ColumnNames(ctx context.Context) (names []string, err error) {
	parts := d.PartsOf("")
	if d.plain != nil || len(parts) == 0 {
		for _, c := range schema.Columns(d.Kind) {
			names = append(names, c.Path)
		}
	} else {
		src, f, err := d.OpenPart(ctx, parts[0])
		if err != nil {
			return nil, err
		}
		defer src.Close()
		names = f.Names()
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".") }), nil
}
