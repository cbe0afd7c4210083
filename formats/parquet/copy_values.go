package parquet

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// rowCopier decodes pages of one chunk and adds some of their rows to another.
type rowCopier struct {
	*chunk
	column  page.Column
	raw     page.RawPage
	page    page.Page
	buf     []byte // of the window
	partial bool   // the buffered entries begin within an example group
}

// rowCopiers keep the memory of pages: as many as columns that are copied concurrently.
var rowCopiers = sync.Pool{New: func() any { return &rowCopier{column: page.Column{Scratch: true}} }}

// newRowCopier returns one that adds rows of a chunk of b to c.
func newRowCopier(c *chunk, b *batch, m *layout.ColumnMeta) *rowCopier {
	t := rowCopiers.Get().(*rowCopier)
	t.chunk, t.page, t.partial = c, page.Page{}, false
	t.column.Node, t.column.Codec, t.column.Left, t.column.Dict = b.f.Leaves[c.Node.Leaf], m.Codec, m.NumValues, layout.Values{}
	t.column.Budget, t.column.PageBytes, t.column.RowBytes, t.column.DictBytes = b.budget, 0, 0, 0
	return t
}

func (t *rowCopier) free() {
	t.chunk = nil
	t.column.Budget.Release(t.column.PageBytes + t.column.DictBytes)
	rowCopiers.Put(t)
}

func (t *rowCopier) window(src io.ReaderAt, at, end, ahead int64) page.Window {
	return page.Window{Src: src, At: at, End: end, Ahead: ahead, Buf: t.buf[:0]}
}

// addChunk reads the chunk of a light leaf.
func (t *rowCopier) addChunk(b *batch, m *layout.ColumnMeta) error {
	start, end := layout.Span(m)
	w := t.window(b.src, start, end, page.ReadAhead)
	defer func() { t.buf = w.Buf }()
	ranges, next := b.ranges, int64(0)
	for len(ranges) > 0 {
		if err := t.column.Next(&w, &t.raw, &t.page); errors.Is(err, io.EOF) {
			return layout.BadPage("the column ended after %d rows", next)
		} else if err != nil {
			return err
		}
		if t.page.Rows < 0 {
			return layout.BadPage("it does not say how many rows it has")
		}
		if err := t.addRanges(next, ranges); err != nil {
			return err
		}
		next += int64(t.page.Rows)
		for len(ranges) > 0 && ranges[0].to <= next {
			ranges = ranges[1:]
		}
	}
	return nil
}

// addPage decodes one page of a heavy leaf.
func (t *rowCopier) addPage(src io.ReaderAt, p pageLocation, ranges []rowRange) error {
	w := t.window(src, p.Offset, p.Offset+int64(p.CompressedPageSize), int64(p.CompressedPageSize))
	defer func() { t.buf = w.Buf }()
	t.column.Left = page.MaxValues
	if err := t.column.Next(&w, &t.raw, &t.page); err != nil {
		return err
	}
	if int64(t.page.Rows) != p.end-p.FirstRowIndex {
		return layout.BadPage("it has %d rows; its index says %d", t.page.Rows, p.end-p.FirstRowIndex)
	}
	return t.addRanges(p.FirstRowIndex, ranges)
}

// addRanges adds the selected rows of a page whose first row is first.
func (t *rowCopier) addRanges(first int64, ranges []rowRange) error {
	p := &t.page
	if p.Reps == nil && p.Rows != p.Entries ||
		p.Reps != nil && (bytes.Count(p.Reps, []byte{0}) != p.Rows || p.Rows > 0 && p.Reps[0] != 0) {
		return layout.BadPage("it does not have %d rows", p.Rows)
	}
	if p.Reps != nil {
		if err := t.Leaf.CheckLevels(p.Reps, p.Defs); err != nil {
			return err
		}
	}
	at, value, next, end := 0, 0, first, first+int64(p.Rows)
	for i := range ranges {
		k := &ranges[i]
		from, to := max(k.from, first), min(k.to, end)
		if from >= to {
			continue
		}
		begin := p.Entry(at, from-next)
		value += p.Present(&t.column, at, begin)
		at = p.Entry(begin, to-from)
		present := p.Present(&t.column, begin, at)
		if err := t.beginRange(k, from, at-begin); err != nil {
			return err
		}
		t.columnBuffer.addEntries(p, begin, at, value, value+present)
		t.columnBuffer.rows += int(to - from)
		value, next = value+present, to
		if err := t.endRange(k, to); err != nil {
			return err
		}
	}
	return nil
}

// beginRange ends the page of a heavy leaf when it must not be shared with the next entries.
func (t *rowCopier) beginRange(k *rowRange, from int64, entries int) error {
	if !t.heavy {
		return nil
	}
	size := int64(t.raw.Header.UncompressedPageSize) * int64(entries) / int64(t.page.Entries)
	if t.columnBuffer.entries > 0 && size >= joinPage {
		if err := t.endPage(); err != nil {
			return err
		}
	}
	if t.columnBuffer.entries == 0 {
		t.partial = !k.begins || from > k.from
	}
	return nil
}

// endRange ends a full page.
func (t *rowCopier) endRange(k *rowRange, to int64) error {
	full := t.size >= pageBytes
	if t.heavy && k.ends && to == k.to {
		full = t.size >= joinPage || t.partial
	}
	if !full {
		return nil
	}
	return t.endPage()
}

// addEntries adds entries [from, to) of a page, whose values are [first, end).
func (g *columnBuffer) addEntries(p *page.Page, from, to, first, end int) {
	g.entries += to - from
	if p.Reps != nil {
		g.reps = append(g.reps, p.Reps[from:to]...)
	}
	if p.Defs != nil {
		g.defs = append(g.defs, p.Defs[from:to]...)
	}
	v := &p.Values
	switch g.Node.Kind {
	case format.Boolean:
		for _, b := range v.Bools[first:end] {
			bit := byte(0)
			if b {
				bit = 1
			}
			g.bits = append(g.bits, bit)
		}
	case format.Int32:
		g.i32 = append(g.i32, v.I32[first:end]...)
	case format.Int64:
		g.i64 = append(g.i64, v.I64[first:end]...)
	case format.Float:
		g.f32 = append(g.f32, v.F32[first:end]...)
	case format.Double:
		g.f64 = append(g.f64, v.F64[first:end]...)
	case format.ByteArray:
		for _, s := range v.Strs[first:end] {
			g.addString(s)
		}
		return
	}
	g.addedNumbers(end - first)
}
