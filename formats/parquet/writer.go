package parquet

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"
)

// Writer writes rows of one kind as one Parquet file. The same rows in the
// same calls give the same bytes. Its memory is one row group, compressed,
// and about 200 bytes a row of light chunks. A Writer is for one goroutine;
// it compresses columns on several.
type Writer[T any] struct {
	layout *layout
	tail   *tail
	chunks []*chunk // by column
	heavy  []*chunk
	sizes  *sizes

	picks []pick // rows of the row group whose payload is still to be copied

	rows, here int64 // of the file, of the row group
	bytes      int64 // logical, of the row group
	failed     error
	closed     bool
}

// NewWriter begins a file on out. T is a struct with parquet tags, as in
// package formats.
func NewWriter[T any](out io.Writer) *Writer[T] {
	l := layoutOf[T]()
	w := &Writer[T]{layout: l}
	for i := range l.leaves {
		c := newChunk(l, i)
		w.chunks = append(w.chunks, c)
		if c.heavy {
			w.heavy = append(w.heavy, c)
		}
	}
	w.sizes = newSizes(reflect.TypeFor[T](), l.paths)
	w.tail = newTail(out, l, w.chunks)
	return w
}

// Write adds one group: rows that stay in one row group, and whose heavy
// pages begin with them. After an error the file cannot be finished.
func (w *Writer[T]) Write(rows []T) error {
	if w.closed {
		return fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
	if w.failed == nil {
		w.failed = w.add(rows)
	}
	return w.failed
}

func (w *Writer[T]) add(rows []T) error {
	total, group, err := w.measure(rows)
	if err != nil {
		return err
	}
	if w.here > 0 && (len(w.picks) > 0 || w.here+int64(len(rows)) > groupRows || w.bytes+total > groupBytes) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	// A leaf of which the group alone fills a page shares none.
	if err := w.endPages(w.heavy, func(c *chunk) bool { return group[c.node.leaf] >= joinPage }); err != nil {
		return err
	}
	for i := range rows {
		for _, c := range w.chunks {
			c.row(unsafe.Pointer(&rows[i]))
		}
		if err := w.endPages(w.heavy, func(c *chunk) bool { return group[c.node.leaf] > splitPage && c.size >= pageBytes }); err != nil {
			return err
		}
	}
	w.rows += int64(len(rows))
	w.here += int64(len(rows))
	w.bytes += total
	return w.endPages(w.chunks, func(c *chunk) bool {
		if c.heavy { // what is left of a group that was split must not be joined by the next
			return c.size >= joinPage || group[c.node.leaf] > splitPage
		}
		return c.size >= pageBytes
	})
}

// measure returns the logical size of a group, and that of each column of it.
func (w *Writer[T]) measure(rows []T) (total int64, group []int64, err error) {
	group = make([]int64, len(w.chunks))
	for i := range rows {
		w.sizes.measure(reflect.ValueOf(&rows[i]).Elem())
		total += w.sizes.total
		for _, c := range w.heavy {
			n := w.sizes.heavy[c.node.leaf]
			group[c.node.leaf] += n
			if n > maxPage/2 {
				return 0, nil, fmt.Errorf("row %d: %s has %d bytes; at most %d fit in a page", w.rows+int64(i), c.name, n, maxPage/2)
			}
		}
	}
	return total, group, nil
}

// endPages ends the pages of some columns, each on its own processor:
// compressing them is most of the work of writing.
func (w *Writer[T]) endPages(columns []*chunk, full func(*chunk) bool) error {
	var some errgroup.Group
	some.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range columns {
		if full(c) {
			some.Go(c.endPage)
		}
	}
	return some.Wait()
}

// flush ends the row group.
func (w *Writer[T]) flush() error {
	if w.here == 0 {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	if len(w.picks) == 0 {
		for _, c := range w.chunks {
			all.Go(c.end)
		}
	} else if err := w.copyPicks(&all); err != nil {
		return err
	}
	if err := all.Wait(); err != nil {
		return err
	}
	w.picks = w.picks[:0]
	if err := w.tail.add(w.chunks, w.here); err != nil {
		return err
	}
	for _, c := range w.chunks {
		c.reset()
	}
	w.here, w.bytes = 0, 0
	return nil
}

// Rows is how many rows were written.
func (w *Writer[T]) Rows() int64 { return w.rows }

// Size is how many bytes the file has; before Close, what it has so far.
func (w *Writer[T]) Size() int64 {
	n := w.tail.at + w.tail.held
	for _, c := range w.chunks {
		if !w.closed {
			n += c.stored()
		}
	}
	return n
}

// RowGroups lists the rows of each row group; whole after Close.
func (w *Writer[T]) RowGroups() []int64 {
	out := make([]int64, len(w.tail.meta.RowGroups))
	for i := range out {
		out[i] = w.tail.meta.RowGroups[i].NumRows
	}
	return out
}

// Note adds a pair to the footer's key-value metadata, for a consumer that
// looks for one. Our own datasets have none: their manifest says it all.
func (w *Writer[T]) Note(key, value string) {
	w.tail.meta.KeyValueMetadata = append(w.tail.meta.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// Close writes what is left and the footer. It does not close the output.
func (w *Writer[T]) Close() error {
	if w.closed || w.failed != nil {
		return w.failed
	}
	if w.failed = w.flush(); w.failed != nil {
		return w.failed
	}
	w.closed = true
	if w.rows == 0 && len(w.tail.meta.KeyValueMetadata) == 0 {
		w.failed = w.tail.empty(w.layout)
	} else {
		w.failed = w.tail.close()
	}
	return w.failed
}
