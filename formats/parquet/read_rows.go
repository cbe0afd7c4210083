package parquet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/storage/fault"
)

// Reader reads rows in order. T is a struct with any of the file's columns:
// only those are read. Fields are strings, numbers, booleans, pointers to them
// for nullable columns, structs, and slices of all these.
//
// Rows of a page share its memory, for strings and numbers alike: they belong
// to the caller, but one kept row keeps its page in memory. A Reader is for one
// goroutine.
type Reader[T any] struct{ reader }

// reader reads rows of any type.
type reader struct {
	f        *File
	leaves   []*leaf
	next     int64 // row of the file
	end      int64
	rowGroup int   // that holds next
	first    int64 // its first row
	cursors  []*cursor
	spent    []*cursor // of the row group before
	budget   *budget
	uses     *uses // nil when the caller does not say it

	stream *stream // of a file that is fetched ahead; else nil
	then   func() Follower
}

// NewReader returns a reader of rows [first, first+rows) of a file. A file
// without the columns that T needs is a fault.Input.
func NewReader[T any](f *File, first, rows int64) (*Reader[T], error) {
	leaves, err := bind(reflect.TypeFor[T](), f.root)
	if err != nil {
		return nil, fault.Invalid(f.name, "", nil, "%s", err)
	}
	r, err := f.newReader(leaves, first, rows)
	return &Reader[T]{r}, err
}

func (f *File) newReader(leaves []*leaf, first, rows int64) (reader, error) {
	if first < 0 || rows < 0 || first > f.Rows() || rows > f.Rows()-first {
		return reader{}, fault.Invalid(f.name, "", nil, "rows %d to %d are not among its %d", first, first+rows, f.Rows())
	}
	return reader{f: f, leaves: leaves, next: first, end: first + rows, budget: f.newBudget()}, nil
}

// Read fills rows and returns how many it set, and io.EOF after the last row. A
// damaged file is a fault.Input with the row.
func (r *Reader[T]) Read(rows []T) (n int, err error) {
	defer r.refusePanic(&err)
	r.budget.releaseRows()
	if r.uses != nil {
		r.uses.read = r.next + int64(len(rows))
	}
	for n < len(rows) {
		if r.next >= r.end {
			return n, io.EOF
		}
		if err := r.open(); err != nil {
			return n, err
		}
		some := rows[n : n+r.adjacent(len(rows)-n)]
		clear(some)
		if err := r.fill(rowSliceOf(some)); err != nil {
			clear(some)
			return n, err
		}
		n += len(some)
	}
	return n, nil
}

// ReadAll returns the rows that read sets until io.EOF. The claimed number of rows may be
// wrong, so memory grows with the rows that are actually read.
func ReadAll[T any](read func([]T) (int, error), claimed int64) ([]T, error) {
	rows := make([]T, 0, min(claimed, 4096))
	for {
		if len(rows) == cap(rows) {
			rows = slices.Grow(rows, 1)
		}
		n, err := read(rows[len(rows):cap(rows)])
		rows = rows[:len(rows)+n]
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Skip skips rows, of which it decodes as little as it can. It returns io.EOF if
// there are not as many.
func (r *reader) Skip(rows int64) (err error) {
	defer r.refusePanic(&err)
	if rows > r.end-r.next {
		return io.EOF
	}
	r.budget.releaseRows()
	for rows > 0 {
		if r.f.ahead > 0 { // what is fetched passes every row group
			err = r.open()
		}
		if r.cursors == nil || err != nil {
			break
		}
		left := r.first + r.f.meta.RowGroups[r.rowGroup].NumRows - r.next
		if rows >= left && r.f.ahead == 0 {
			break
		}
		n := min(rows, left)
		for i := 0; i < len(r.cursors) && n < left; i++ {
			if err := r.cursors[i].skip(n); err != nil {
				return r.fail(r.cursors[i].name, err)
			}
		}
		r.next += n
		rows -= n
	}
	r.next += rows // in another row group
	return err
}

// adjacent returns how many of the next n rows are in the open row group.
func (r *reader) adjacent(n int) int {
	left := r.first + r.f.meta.RowGroups[r.rowGroup].NumRows - r.next
	return int(min(int64(n), r.end-r.next, left))
}

// fill reads rows, which must be zero, from the open row group.
func (r *reader) fill(rows rowSlice) error {
	for _, c := range r.cursors {
		if err := c.fill(rows.base, rows.stride, rows.n); err != nil {
			return r.fail(c.name, err)
		}
	}
	r.next += int64(rows.n)
	return nil
}

// open moves to the row group of the next row.
func (r *reader) open() error {
	rowGroups := r.f.meta.RowGroups
	for r.first+rowGroups[r.rowGroup].NumRows <= r.next {
		r.first += rowGroups[r.rowGroup].NumRows
		r.rowGroup++
		if r.cursors != nil {
			r.spent, r.cursors = r.cursors, nil
			for _, c := range r.spent {
				c.column.releaseChunk()
			}
		}
	}
	if r.cursors != nil {
		return nil
	}
	if err := r.fetchAhead(); err != nil {
		return r.fail("", err)
	}
	skip := r.next - r.first
	whole := skip == 0 && r.end >= r.first+rowGroups[r.rowGroup].NumRows
	for i, l := range r.leaves {
		c := newCursor(r.source(i), l, &rowGroups[r.rowGroup].Columns[l.node.leaf].MetaData, whole)
		c.column.budget = r.budget
		c.column.recycle(r.uses)
		if i < len(r.spent) {
			c.inherit(r.spent[i])
		}
		rest, err := r.seek(c, i, skip)
		if err == nil {
			err = c.skip(rest)
		}
		if err != nil {
			r.cursors = nil
			return r.fail(l.name, err)
		}
		r.cursors = append(r.cursors, c)
	}
	return nil
}

func newCursor(src io.ReaderAt, l *leaf, m *columnMeta, whole bool) *cursor {
	start, end := span(m)
	c := &cursor{leaf: l, index: make([]int, len(l.lists)), open: make([]*slice, len(l.lists))}
	c.column = column{node: l.node, codec: m.Codec, left: m.NumValues, keep: l.kept()}
	c.window = window{src: src, at: start, end: end, ahead: readAhead}
	if !whole {
		c.window.ahead = readAhead / 16
	}
	return c
}

// inherit takes over memory that no returned row uses.
func (c *cursor) inherit(spent *cursor) {
	from := &spent.column
	if c.column.keep {
		c.column.lists = from.lists
		c.column.lists.retire(from.spare)
		from.spare = values{}
	}
	c.column.text, c.column.texts = from.text, from.texts
	c.column.inflated, c.column.levels, c.column.index, c.column.offsets, c.column.spare = from.inflated, from.levels, from.index, from.offsets, from.spare
	c.window.buf = spent.window.buf[:0]
}

// NewHeadReader returns a reader of rows without their payload: fields with the
// tag rollmill:"payload" stay empty, and their columns are not fetched.
func NewHeadReader[T any](f *File, first, rows int64) (*Reader[T], error) {
	return NewPartReader[T](f, first, rows, nil)
}

// NewPartReader returns a reader of rows with only those columns of their payload
// for which keep returns true, none if it is nil. Its argument is a column's name, as
// in "messages.content".
func NewPartReader[T any](f *File, first, rows int64, keep func(column string) bool) (*Reader[T], error) {
	r, err := NewReader[T](f, first, rows)
	if err != nil {
		return nil, err
	}
	r.dropPayload(keep)
	return r, nil
}

// dropPayload drops the columns of the payload, except those to keep.
func (r *reader) dropPayload(keep func(column string) bool) {
	r.leaves = slices.DeleteFunc(r.leaves, func(l *leaf) bool { return l.payload && (keep == nil || !keep(l.name)) })
	firstMakes(r.leaves)
}

// LeaveOut makes the reader leave out columns, which are not fetched either, and
// all columns below them. It is called before the first row is read.
func (r *reader) LeaveOut(columns ...string) {
	r.leaves = slices.DeleteFunc(r.leaves, func(l *leaf) bool {
		return slices.ContainsFunc(columns, func(name string) bool {
			return l.name == name || strings.HasPrefix(l.name, name+".")
		})
	})
	firstMakes(r.leaves)
}

// seek moves a cursor to the page that holds a row of its row group, and
// returns how many rows of the page are before it. For a chunk of a page or two
// the page index is not worth a request.
func (r *reader) seek(c *cursor, leaf int, row int64) (rest int64, err error) {
	id := chunkID{r.rowGroup, leaf}
	chunk := r.chunk(id)
	pages, planned := r.pagesAhead(id)
	if !planned {
		if row == 0 || chunk.OffsetIndexLength == 0 || chunk.MetaData.TotalCompressedSize <= readAhead/4 || r.stream != nil {
			return row, nil
		}
		if pages, err = pagesOf(r.f.src, chunk); err != nil {
			return 0, err
		}
	}
	_, end := r.rowsIn(r.rowGroup)
	to, until := pagesOfRows(pages, row, end)
	if planned && until < len(pages) { // what follows is not fetched
		if pages[until].Offset <= c.window.at || pages[until].Offset > c.window.end {
			return 0, badPage("its index places page %d at byte %d", until, pages[until].Offset)
		}
		c.window.end = pages[until].Offset
	}
	if to <= 0 {
		return row, nil
	}
	if pages[to].Offset < c.window.at || pages[to].Offset >= c.window.end {
		return 0, badPage("its index places page %d at byte %d", to, pages[to].Offset)
	}
	if chunk.MetaData.DictionaryPageOffset > 0 {
		if err := c.window.next(&c.raw); err != nil {
			return 0, err
		}
		if c.raw.header.Type == format.DictionaryPage {
			if err := c.column.dictionary(&c.raw); err != nil {
				return 0, err
			}
		}
	}
	c.window.at = pages[to].Offset
	return row - pages[to].FirstRowIndex, nil
}

// pagesOf reads the positions of a chunk's pages.
func pagesOf(src io.ReaderAt, chunk *chunkMeta) ([]format.PageLocation, error) {
	index, err := readIndex[format.OffsetIndex](src, chunk.OffsetIndexOffset, chunk.OffsetIndexLength)
	return index.PageLocations, err
}

// readIndex reads an index of a chunk's pages.
func readIndex[I any](src io.ReaderAt, offset int64, length int32) (index I, err error) {
	data := make([]byte, length)
	if err := readAt(src, data, offset); err != nil {
		return index, err
	}
	if err := weigh(data); err != nil {
		return index, badPage("its index: %v", err)
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data, &index); err != nil {
		return index, badPage("its index: %v", err)
	}
	return index, nil
}

// refusePanic turns a panic of parquet-go, on bytes that all checks accepted, into an
// error.
func (r *reader) refusePanic(err *error) {
	if v := recover(); v != nil {
		*err = r.fail("", badPage("%v", v))
	}
}

func (r *reader) fail(column string, err error) error {
	return r.f.fail(column, r.rowGroup, r.next, err)
}

// fail adds the place to an error. An error of the source is not the file's
// fault and is returned unchanged.
func (f *File) fail(column string, rowGroup int, row int64, err error) error {
	var m *misfit
	if errors.As(err, &m) {
		return fault.Invalid(f.name, "write a value that the column holds", nil,
			"column %s: %s", column, m.what).InRow(row + int64(m.row))
	}
	truncated := errors.Is(err, io.ErrUnexpectedEOF)
	if !errors.Is(err, errPage) && !errors.Is(err, errThrift) && !truncated {
		return fmt.Errorf("read %q: %w", f.name, err)
	}
	what := "unreadable"
	if column != "" {
		what = fmt.Sprintf("column %s, row group %d", column, rowGroup)
	}
	return fault.Invalid(f.name, "", err, "%s", what).InRow(row)
}

// Close releases the reader, not the file.
func (r *reader) Close() error {
	r.cursors, r.spent = nil, nil
	if r.stream != nil {
		r.stream.close()
	}
	r.next = r.end
	return nil
}
