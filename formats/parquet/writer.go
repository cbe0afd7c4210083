package parquet

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	pq "github.com/parquet-go/parquet-go"
)

// Writer writes rows of one kind as one Parquet file. The same rows in the
// same calls give the same bytes. A Writer is for one goroutine.
//
// parquet-go encodes each row group as a small file in memory, and tail joins
// them: heavy chunks go out as a row group closes, light ones wait for the
// end. Memory is one row group, and about 200 bytes a row of light chunks.
type Writer[T any] struct {
	tail  *tail
	mini  bytes.Buffer
	w     *pq.GenericWriter[T]
	sizes *sizes
	heavy []int   // columns
	held  []int64 // by column: logical bytes since its last page
	group []int64 // by column: of the group being added

	rows, here int64 // of the file, of the row group
	bytes      int64 // logical, of the row group
	closed     bool
}

// NewWriter begins a file on out.
func NewWriter[T any](out io.Writer) *Writer[T] {
	w := &Writer[T]{}
	w.w = pq.NewGenericWriter[T](&w.mini, options[T]()...)
	columns := w.w.Schema().Columns()
	w.sizes = newSizes(reflect.TypeFor[T](), columns)
	w.held, w.group = make([]int64, len(columns)), make([]int64, len(columns))
	for i, path := range columns {
		if heavy[columnName(path)] {
			w.heavy = append(w.heavy, i)
		}
	}
	w.tail = newTail(out, w.heavy, len(columns))
	return w
}

// Write adds one group: rows that stay in one row group, and whose heavy
// pages begin with them.
func (w *Writer[T]) Write(rows []T) error {
	if w.closed {
		return fmt.Errorf("write Parquet: %w", io.ErrClosedPipe)
	}
	total, largest, err := w.measure(rows)
	if err != nil {
		return err
	}
	if w.here > 0 && (w.here+int64(len(rows)) > groupRows || w.bytes+total > groupBytes) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if err := w.beforeGroup(); err != nil {
		return err
	}
	step := len(rows)
	if largest > splitPage {
		step = 1 // parquet-go then ends a page wherever one is full
	}
	for i := 0; i < len(rows); i += max(step, 1) {
		if _, err := w.w.Write(rows[i : i+step]); err != nil {
			return err
		}
	}
	w.rows += int64(len(rows))
	w.here += int64(len(rows))
	w.bytes += total
	return w.afterGroup()
}

// measure returns the logical size of a group and of its largest heavy leaf.
func (w *Writer[T]) measure(rows []T) (total, largest int64, err error) {
	clear(w.group)
	for i := range rows {
		w.sizes.measure(reflect.ValueOf(&rows[i]).Elem())
		total += w.sizes.total
		for _, c := range w.heavy {
			w.group[c] += w.sizes.heavy[c]
			largest = max(largest, w.group[c])
			if w.sizes.heavy[c] > maxPage {
				return 0, 0, fmt.Errorf("row %d: %s has %d bytes; at most %d fit in a page",
					w.rows+int64(i), columnName(w.w.Schema().Columns()[c]), w.sizes.heavy[c], maxPage)
			}
		}
	}
	return total, largest, nil
}

// beforeGroup ends the pages that a group should not share: those of leaves
// of which the group alone fills a page.
func (w *Writer[T]) beforeGroup() error {
	for _, c := range w.heavy {
		if w.held[c] > 0 && w.group[c] >= joinPage {
			if err := w.endPage(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// afterGroup ends the pages that are full. A group that alone fills a page
// may have been split, so what is left of it must not be joined by the next.
func (w *Writer[T]) afterGroup() error {
	for _, c := range w.heavy {
		w.held[c] += w.group[c]
		if w.held[c] >= joinPage {
			if err := w.endPage(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer[T]) endPage(column int) error {
	w.held[column] = 0
	return w.w.ColumnWriters()[column].Flush()
}

// flush ends the row group.
func (w *Writer[T]) flush() error {
	if w.here == 0 {
		return nil
	}
	if err := w.w.Close(); err != nil {
		return err
	}
	if err := w.tail.add(w.mini.Bytes()); err != nil {
		return err
	}
	w.mini.Reset()
	w.w.Reset(&w.mini)
	w.here, w.bytes = 0, 0
	clear(w.held)
	return nil
}

// Rows is how many rows were written.
func (w *Writer[T]) Rows() int64 { return w.rows }

// Size is how many bytes the file has; before Close, what it has so far.
func (w *Writer[T]) Size() int64 {
	if w.closed {
		return w.tail.at
	}
	return w.tail.at + w.tail.held + w.w.Size()
}

// RowGroups lists the rows of each row group; whole after Close.
func (w *Writer[T]) RowGroups() []int64 {
	var out []int64
	for i := range w.tail.meta.RowGroups {
		out = append(out, w.tail.meta.RowGroups[i].NumRows)
	}
	return out
}

// Close writes what is left and the footer. It does not close the output.
func (w *Writer[T]) Close() error {
	if w.closed {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.closed = true
	if len(w.tail.meta.RowGroups) == 0 { // no rows: parquet-go's own footer has the schema
		if err := w.w.Close(); err != nil {
			return err
		}
		return w.tail.empty(w.mini.Bytes())
	}
	w.w.Reset(io.Discard)
	return w.tail.close()
}
