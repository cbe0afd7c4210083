package dataset

import "context"

// Reader reads rows of a table in order. T is a row kind of package formats,
// or any struct with some of its columns (same parquet tags): only those
// columns are fetched and decoded. A Reader is for one goroutine.
type Reader[T any] struct {
}

// NewReader reads a range of rows of a table; table "" is the main one.
func NewReader[T any](ctx context.Context, d *Dataset, table string, r Range) (*Reader[T], error) {
	panic("todo")
}

// Read fills rows, returning how many it set, and io.EOF after the last.
// A damaged part is a formats.InputError with part and row.
func (r *Reader[T]) Read(rows []T) (int, error) { panic("todo") }

// Close releases the reader.
func (r *Reader[T]) Close() error { panic("todo") }

// ReadAll reads a range into memory; for tables known to be small.
func ReadAll[T any](ctx context.Context, d *Dataset, table string, r Range) ([]T, error) {
	panic("todo")
}

// Groups calls f with each run of neighbouring rows for which key gives the
// same string. The slice is reused between calls.
func Groups[T any](ctx context.Context, d *Dataset, table string, r Range, key func(*T) string, f func(first int64, rows []T) error) error {
	panic("todo")
}
