package parquet

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go/format"
)

// rowCopier decodes pages of one chunk and adds some of their rows to another.
type rowCopier struct {
	*chunk
	column  column
	raw     rawPage
	page    page
	buf     []byte // of the window
	partial bool   // the buffered entries begin within an example group
}

// rowCopiers keep the memory of pages: as many as columns that are copied
// concurrently.
var rowCopiers = sync.Pool{New: func() any { return &rowCopier{column: column{scratch: true}} }}

// newRowCopier returns one that adds rows of a chunk of b to c.
func newRowCopier(c *chunk, b *batch, m *columnMeta) *rowCopier {
	t := rowCopiers.Get().(*rowCopier)
	t.chunk, t.page, t.partial = c, page{}, false
	t.column.node, t.column.codec, t.column.left, t.column.dict = b.f.leaves[c.node.leaf], m.Codec, m.NumValues, values{}
	t.column.budget, t.column.pageBytes, t.column.rowBytes, t.column.dictBytes = b.budget, 0, 0, 0
	return t
}

func (t *rowCopier) free() {
	t.chunk = nil
	t.column.budget.release(t.column.pageBytes + t.column.dictBytes)
	rowCopiers.Put(t)
}

func (t *rowCopier) window(src io.ReaderAt, at, end, ahead int64) window {
	return window{src: src, at: at, end: end, ahead: ahead, buf: t.buf[:0]}
}

// addChunk reads the chunk of a light leaf.
func (t *rowCopier) addChunk(b *batch, m *columnMeta) error {
	start, end := span(m)
	w := t.window(b.src, start, end, readAhead)
	defer func() { t.buf = w.buf }()
	ranges, next := b.ranges, int64(0)
	for len(ranges) > 0 {
		if err := t.column.next(&w, &t.raw, &t.page); errors.Is(err, io.EOF) {
			return badPage("the column ended after %d rows", next)
		} else if err != nil {
			return err
		}
		if t.page.rows < 0 {
			return badPage("it does not say how many rows it has")
		}
		if err := t.addRanges(next, ranges); err != nil {
			return err
		}
		next += int64(t.page.rows)
		for len(ranges) > 0 && ranges[0].to <= next {
			ranges = ranges[1:]
		}
	}
	return nil
}

// addPage decodes one page of a heavy leaf.
func (t *rowCopier) addPage(src io.ReaderAt, p pageLocation, ranges []rowRange) error {
	w := t.window(src, p.Offset, p.Offset+int64(p.CompressedPageSize), int64(p.CompressedPageSize))
	defer func() { t.buf = w.buf }()
	t.column.left = maxValues
	if err := t.column.next(&w, &t.raw, &t.page); err != nil {
		return err
	}
	if int64(t.page.rows) != p.end-p.FirstRowIndex {
		return badPage("it has %d rows; its index says %d", t.page.rows, p.end-p.FirstRowIndex)
	}
	return t.addRanges(p.FirstRowIndex, ranges)
}

// addRanges adds the selected rows of a page whose first row is first.
func (t *rowCopier) addRanges(first int64, ranges []rowRange) error {
	p := &t.page
	if p.reps == nil && p.rows != p.entries ||
		p.reps != nil && (bytes.Count(p.reps, []byte{0}) != p.rows || p.rows > 0 && p.reps[0] != 0) {
		return badPage("it does not have %d rows", p.rows)
	}
	if p.reps != nil {
		if err := t.leaf.checkLevels(p.reps, p.defs); err != nil {
			return err
		}
	}
	at, value, next, end := 0, 0, first, first+int64(p.rows)
	for i := range ranges {
		k := &ranges[i]
		from, to := max(k.from, first), min(k.to, end)
		if from >= to {
			continue
		}
		begin := p.entry(at, from-next)
		value += p.present(&t.column, at, begin)
		at = p.entry(begin, to-from)
		present := p.present(&t.column, begin, at)
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

// beginRange ends the page of a heavy leaf when it must not be shared with the next
// entries.
func (t *rowCopier) beginRange(k *rowRange, from int64, entries int) error {
	if !t.heavy {
		return nil
	}
	size := int64(t.raw.header.UncompressedPageSize) * int64(entries) / int64(t.page.entries)
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

// entry returns the index of the entry at which the row begins that is n rows
// after the one at an entry.
func (p *page) entry(at int, n int64) int {
	if p.reps == nil {
		return at + int(n)
	}
	at += skipRows(p.reps[at+1:], &n)
	for ; n > 0; n-- {
		next := bytes.IndexByte(p.reps[at+1:], 0)
		if next < 0 {
			return p.entries
		}
		at += 1 + next
	}
	return at
}

// skipRows passes levels of at most n rows, and subtracts those that begin there,
// as long as rows are short: then counting many is faster than finding each.
func skipRows(reps []byte, n *int64) (at int) {
	for *n >= 8 && len(reps)-at >= 8 {
		some := reps[at : at+int(min(*n, int64(len(reps)-at)))]
		begin := int64(bytes.Count(some, []byte{0}))
		at += len(some)
		if *n -= begin; begin < int64(len(some))/16 {
			break
		}
	}
	return at
}

// present returns the number of values of entries [from, to).
func (p *page) present(c *column, from, to int) int {
	if p.defs == nil {
		return to - from
	}
	return count(p.defs[from:to], byte(c.def))
}

// addEntries adds entries [from, to) of a page, whose values are [first, end).
func (g *columnBuffer) addEntries(p *page, from, to, first, end int) {
	g.entries += to - from
	if p.reps != nil {
		g.reps = append(g.reps, p.reps[from:to]...)
	}
	if p.defs != nil {
		g.defs = append(g.defs, p.defs[from:to]...)
	}
	v := &p.values
	switch g.node.kind {
	case format.Boolean:
		for _, b := range v.bools[first:end] {
			bit := byte(0)
			if b {
				bit = 1
			}
			g.bits = append(g.bits, bit)
		}
	case format.Int32:
		g.i32 = append(g.i32, v.i32[first:end]...)
	case format.Int64:
		g.i64 = append(g.i64, v.i64[first:end]...)
	case format.Float:
		g.f32 = append(g.f32, v.f32[first:end]...)
	case format.Double:
		g.f64 = append(g.f64, v.f64[first:end]...)
	case format.ByteArray:
		for _, s := range v.strs[first:end] {
			g.addString(s)
		}
		return
	}
	g.addedNumbers(end - first)
}
