package reader

import (
	"errors"
	"io"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
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
	f        *layout.File
	leaves   []*layout.Leaf
	next     int64 // row of the file
	end      int64
	rowGroup int   // that holds next
	first    int64 // its first row
	cursors  []*cursor
	spent    []*cursor // of the row group before
	budget   *layout.Budget
	uses     *page.Uses // nil when the caller does not say it

	stream *stream // of a file that is fetched ahead; else nil
	then   func() Follower
}

// NewReader returns a reader of rows [first, first+rows) of a file. A file
// without the columns that T needs is a fault.Error.
func NewReader[T any](f *layout.File, first, rows int64) (*Reader[T], error) {
	leaves, err := layout.Bind(reflect.TypeFor[T](), f.Root)
	if err != nil {
		return nil, fault.Invalid(f.Name(), "", nil, "%s", err)
	}
	r, err := newReader(f, leaves, first, rows)
	return &Reader[T]{r}, err
}

func newReader(f *layout.File, leaves []*layout.Leaf, first, rows int64) (reader, error) {
	if first < 0 || rows < 0 || first > f.Rows() || rows > f.Rows()-first {
		return reader{}, fault.Invalid(f.Name(), "", nil,
			"rows %d to %d are not among its %d", first, first+rows, f.Rows())
	}
	return reader{f: f, leaves: leaves, next: first, end: first + rows, budget: f.NewBudget()}, nil
}

// Read fills rows and returns how many it set, and io.EOF after the last row. A
// damaged file is a fault.Error with the row.
func (r *Reader[T]) Read(rows []T) (n int, err error) {
	defer r.refusePanic(&err)
	r.budget.ReleaseRows()
	if r.uses != nil {
		r.uses.Read = r.next + int64(len(rows))
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
		if err := r.fill(layout.RowSliceOf(some)); err != nil {
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
	r.budget.ReleaseRows()
	for rows > 0 {
		if r.f.Ahead > 0 { // what is fetched passes every row group
			err = r.open()
		}
		if r.cursors == nil || err != nil {
			break
		}
		left := r.first + r.f.Meta.RowGroups[r.rowGroup].NumRows - r.next
		if rows >= left && r.f.Ahead == 0 {
			break
		}
		n := min(rows, left)
		for i := 0; i < len(r.cursors) && n < left; i++ {
			if err := r.cursors[i].skip(n); err != nil {
				return r.fail(r.cursors[i].Name, err)
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
	left := r.first + r.f.Meta.RowGroups[r.rowGroup].NumRows - r.next
	return int(min(int64(n), r.end-r.next, left))
}

// fill reads rows, which must be zero, from the open row group.
func (r *reader) fill(rows layout.RowSlice) error {
	for _, c := range r.cursors {
		if err := c.fill(rows.Base, rows.Stride, rows.N); err != nil {
			return r.fail(c.Name, err)
		}
	}
	r.next += int64(rows.N)
	return nil
}

// open moves to the row group of the next row.
func (r *reader) open() error {
	rowGroups := r.f.Meta.RowGroups
	for r.first+rowGroups[r.rowGroup].NumRows <= r.next {
		r.first += rowGroups[r.rowGroup].NumRows
		r.rowGroup++
		if r.cursors != nil {
			r.spent, r.cursors = r.cursors, nil
			for _, c := range r.spent {
				c.column.ReleaseChunk()
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
		c := newCursor(r.source(i), l, &rowGroups[r.rowGroup].Columns[l.Node.Leaf].MetaData, whole)
		c.column.Budget = r.budget
		c.column.Recycle(r.uses)
		if i < len(r.spent) {
			c.inherit(r.spent[i])
		}
		rest, err := r.seek(c, i, skip)
		if err == nil {
			err = c.skip(rest)
		}
		if err != nil {
			r.cursors = nil
			return r.fail(l.Name, err)
		}
		r.cursors = append(r.cursors, c)
	}
	return nil
}

func newCursor(src io.ReaderAt, l *layout.Leaf, m *layout.ColumnMeta, whole bool) *cursor {
	start, end := layout.Span(m)
	c := &cursor{Leaf: l, index: make([]int, len(l.Lists)), open: make([]*layout.Slice, len(l.Lists))}
	c.column = page.Column{Node: l.Node, Codec: m.Codec, Left: m.NumValues, Keep: l.Kept()}
	c.window = page.Window{Src: src, At: start, End: end, Ahead: page.ReadAhead}
	if !whole {
		c.window.Ahead = page.ReadAhead / 16
	}
	return c
}

// inherit takes over memory that no returned row uses.
func (c *cursor) inherit(spent *cursor) {
	from := &spent.column
	if c.column.Keep {
		c.column.Lists = from.Lists
		c.column.Lists.Retire(from.Spare)
		from.Spare = layout.Values{}
	}
	c.column.Text, c.column.Texts = from.Text, from.Texts
	c.column.Inflated, c.column.Levels, c.column.Index, c.column.Offsets, c.column.Spare = from.Inflated,
		from.Levels, from.Index, from.Offsets, from.Spare
	c.window.Buf = spent.window.Buf[:0]
}

// Choose makes the reader read only columns that are wanted; no others are fetched. It
// is called before the first row is read.
func (r *reader) Choose(wanted func(*layout.Leaf) bool) {
	r.leaves = slices.DeleteFunc(r.leaves, func(l *layout.Leaf) bool { return !wanted(l) })
	layout.FirstMakes(r.leaves)
}

// seek moves a cursor to the page that holds a row of its row group, and
// returns how many rows of the page are before it. For a chunk of a page or two
// the page index is not worth a request.
func (r *reader) seek(c *cursor, leaf int, row int64) (rest int64, err error) {
	id := chunkID{r.rowGroup, leaf}
	chunk := r.chunk(id)
	pages, planned := r.pagesAhead(id)
	if !planned {
		if row == 0 || chunk.OffsetIndexLength == 0 || chunk.MetaData.TotalCompressedSize <= page.ReadAhead/4 || r.stream != nil {
			return row, nil
		}
		if pages, err = layout.PagesOf(r.f.Src, chunk); err != nil {
			return 0, err
		}
	}
	_, end := r.rowsIn(r.rowGroup)
	to, until := pagesOfRows(pages, row, end)
	if planned && until < len(pages) { // what follows is not fetched
		if pages[until].Offset <= c.window.At || pages[until].Offset > c.window.End {
			return 0, layout.BadPage("its index places page %d at byte %d", until, pages[until].Offset)
		}
		c.window.End = pages[until].Offset
	}
	if to <= 0 {
		return row, nil
	}
	if pages[to].Offset < c.window.At || pages[to].Offset >= c.window.End {
		return 0, layout.BadPage("its index places page %d at byte %d", to, pages[to].Offset)
	}
	if chunk.MetaData.DictionaryPageOffset > 0 {
		if err := c.window.Next(&c.raw); err != nil {
			return 0, err
		}
		if c.raw.Header.Type == format.DictionaryPage {
			if err := c.column.Dictionary(&c.raw); err != nil {
				return 0, err
			}
		}
	}
	c.window.At = pages[to].Offset
	return row - pages[to].FirstRowIndex, nil
}

// refusePanic turns a panic of parquet-go, on bytes that all checks accepted, into an error.
func (r *reader) refusePanic(err *error) {
	if v := recover(); v != nil {
		*err = r.fail("", layout.BadPage("%v", v))
	}
}

func (r *reader) fail(column string, err error) error {
	return r.f.Fail(column, r.rowGroup, r.next, err)
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

// Done tells the reader that rows before this one, of the file, are not used any
// more: the memory of their lists of numbers is used again, and with texts that of
// their strings. Without it the garbage collector takes it.
func (r *reader) Done(row int64, texts bool) {
	if r.uses == nil {
		r.uses = &page.Uses{Read: r.next}
		for _, c := range r.cursors {
			c.column.Recycle(r.uses)
		}
	}
	r.uses.Done, r.uses.Texts = row, texts
}
