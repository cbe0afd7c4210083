package parquet

import (
	"errors"
	"io"

	pq "github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
)

// Reader reads rows in order. T may have any of the file's columns: only
// those are read. A Reader is for one goroutine.
type Reader[T any] struct {
	f     *File
	next  int64 // row in the file
	end   int64
	group int // of row groups, the next to open
	first int64
	cur   *pq.GenericReader[T]
}

// NewReader reads rows [first, first+rows) of a file.
func NewReader[T any](f *File, first, rows int64) (r *Reader[T], err error) {
	return &Reader[T]{f: f, next: first, end: min(first+rows, f.Rows())}, nil
}

// Read fills rows, returning how many it set, and io.EOF after the last.
func (r *Reader[T]) Read(rows []T) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.fail(nil, "damaged Parquet: %v", v)
		}
	}()
	clear(rows)
	for n < len(rows) {
		if r.next >= r.end {
			return n, io.EOF
		}
		if r.cur == nil {
			if err := r.open(); err != nil {
				return n, err
			}
		}
		want := min(int64(len(rows)-n), r.end-r.next)
		k, err := r.cur.Read(rows[n : n+int(want)])
		n += k
		r.next += int64(k)
		if errors.Is(err, io.EOF) {
			if err := r.Close(); err != nil {
				return n, err
			}
			r.cur = nil
			continue
		}
		if err != nil {
			return n, r.fail(err, "unreadable row")
		}
	}
	return n, nil
}

// open moves to the row group that holds the next row.
func (r *Reader[T]) open() error {
	groups := r.f.f.RowGroups()
	for r.group < len(groups) && r.first+groups[r.group].NumRows() <= r.next {
		r.first += groups[r.group].NumRows()
		r.group++
	}
	if r.group == len(groups) {
		return r.fail(nil, "the footer counts more rows than there are")
	}
	r.cur = pq.NewGenericRowGroupReader[T](groups[r.group])
	if r.next > r.first {
		return r.cur.SeekToRow(r.next - r.first)
	}
	return nil
}

func (r *Reader[T]) fail(err error, format string, args ...any) error {
	e := formats.Invalid(r.f.name, "", err, format, args...)
	e.Row = r.next
	return e
}

// Close releases the reader, not the file.
func (r *Reader[T]) Close() error {
	if r.cur == nil {
		return nil
	}
	return r.cur.Close()
}
