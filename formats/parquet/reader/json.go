package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
	"github.com/rollmill/rollmill/storage/fault"
)

// JSON yields each row of a Parquet file of any tool as a JSON object, with its
// columns in order. NaN and the infinities are Python's words for them, which
// jsonscan reads; lists, structs and maps are JSON; decimals are numbers with the
// digits that were written; dates and times are ISO 8601 strings, of which an
// instant ends in Z. A column that is annotated as text, an enum or JSON is text;
// any other bytes are base64, whatever the value. A duration, which is not a
// Parquet type, is the number that its writer stored; an interval is ISO 8601.
//
// An error in the bytes, or a type that is not supported, is a
// fault.Error that names the file, and the column and row if there is
// one; errors of src are returned wrapped. Memory is bounded like that of a
// Reader: see defaultBudget.
//
// A struct within a column has the keys of all rows, and those that a row lacks are null:
// they are left out and counted in dropped, unless that is nil. Columns of a type that is
// not supported are left out and named in unread, unless that is nil.
func JSON(name string, src io.ReaderAt, size int64, dropped *int64, unread *[]jsontext.Lost) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		s, err := newJSONScan(name, src, size, unread)
		if err == nil {
			s.dropped = dropped
		}
		for err == nil {
			var row json.RawMessage
			if row, err = s.Next(); err == nil && !yield(row, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// jsonScan reads a file's rows as JSON.
type jsonScan struct {
	f        *layout.File
	root     *shape
	dropped  *int64 // null members of structs within columns, which are not written; nil: they are
	budget   *layout.Budget
	leaves   []*cursor
	column   string // that failed
	rowGroup int    // whose rows are read, -1 before the first
	left     int64  // rows of it
	row      int64
	size     int // of the longest row so far
}

func newJSONScan(name string, src io.ReaderAt, size int64, unread *[]jsontext.Lost) (*jsonScan, error) {
	f, err := layout.Open(src, size, name)
	if err != nil {
		if !errors.Is(err, fault.ErrInvalid) {
			err = fmt.Errorf("read %q: %w", name, err)
		}
		return nil, err
	}
	s := &jsonScan{f: f, budget: f.NewBudget(), rowGroup: -1, leaves: make([]*cursor, len(f.Leaves))}
	if s.root, err = newShape(f.Root, unread); err != nil {
		return nil, fault.Invalid(name, "write the file without it, or as JSON Lines", nil, "%s", err)
	}
	return s, nil
}

// Next returns the next row, or io.EOF after the last.
func (a *jsonScan) Next() (row json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil { // parquet-go, on bytes that all checks accepted
			err = a.f.Fail("", a.rowGroup, a.row, layout.BadPage("%v", v))
		}
	}()
	for a.left == 0 {
		if err := a.nextRowGroup(); err != nil {
			return nil, err
		}
	}
	a.budget.ReleaseRows()
	b, err := a.value(make([]byte, 0, min(a.size, page.ReadAhead)), a.root, 0, 0)
	if err != nil {
		return nil, a.f.Fail(a.column, a.rowGroup, a.row, err)
	}
	a.left--
	a.row++
	a.size = max(a.size, len(b))
	return b, nil
}

func (a *jsonScan) nextRowGroup() error {
	if a.rowGroup >= 0 {
		for _, c := range a.leaves {
			if c == nil {
				continue
			}
			if ok, err := c.more(); err != nil || ok {
				if err == nil {
					err = layout.BadPage("it has more rows than its row group")
				}
				return a.f.Fail(c.Name, a.rowGroup, a.row, err)
			}
			c.column.ReleaseChunk()
		}
	}
	if a.rowGroup++; a.rowGroup == len(a.f.Meta.RowGroups) {
		return io.EOF
	}
	rowGroup := &a.f.Meta.RowGroups[a.rowGroup]
	a.left = rowGroup.NumRows
	clear(a.leaves) // nil: of a column that is not read
	for _, m := range a.root.members {
		for i := m.first; i < m.end; i++ {
			a.leaves[i] = a.cursor(a.f.Leaves[i], &rowGroup.Columns[i].MetaData)
		}
	}
	return nil
}

// cursor returns a reader of a column chunk. The more columns there are, the less it reads ahead.
func (a *jsonScan) cursor(n *layout.Node, m *layout.ColumnMeta) *cursor {
	start, end := layout.Span(m)
	c := &cursor{Leaf: &layout.Leaf{Node: n, Name: layout.ColumnName(n.Path)}}
	c.column = page.Column{Node: n, Codec: m.Codec, Left: m.NumValues, Scratch: true, Budget: a.budget}
	c.window = page.Window{Src: a.f.Src, At: start, End: end,
		Ahead: max(page.HeaderRead, min(page.ReadAhead, 64*page.ReadAhead/int64(len(a.f.Leaves))))}
	return c
}
