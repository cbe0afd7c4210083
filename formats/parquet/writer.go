package parquet

import (
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// Writer writes rows of one kind as one Parquet file. The same rows in the
// same calls give the same bytes. A Writer is for one goroutine.
type Writer[T any] struct {
	out  io.Writer
	w    *pq.GenericWriter[T]
	n    int64
	here int64
	rgs  []int64
}

// NewWriter begins a file on out.
func NewWriter[T any](out io.Writer) *Writer[T] {
	return &Writer[T]{out: out, w: pq.NewGenericWriter[T](out, pq.Compression(codec{}))}
}

// Write adds one group: rows that stay in one row group, and whose heavy
// pages begin with them.
func (w *Writer[T]) Write(rows []T) error {
	if w.here > 0 && w.here+int64(len(rows)) > groupRows {
		if err := w.flush(); err != nil {
			return err
		}
	}
	_, err := w.w.Write(rows)
	w.n += int64(len(rows))
	w.here += int64(len(rows))
	return err
}

func (w *Writer[T]) flush() error {
	if w.here == 0 {
		return nil
	}
	w.rgs = append(w.rgs, w.here)
	w.here = 0
	return w.w.Flush()
}

// Rows is how many rows were written.
func (w *Writer[T]) Rows() int64 { return w.n }

// Size is how many bytes the file will have at least.
func (w *Writer[T]) Size() int64 { return w.w.Size() }

// RowGroups lists the rows of each row group; whole after Close.
func (w *Writer[T]) RowGroups() []int64 { return w.rgs }

// Close writes what is left and the footer. It does not close the output.
func (w *Writer[T]) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.w.Close()
}
