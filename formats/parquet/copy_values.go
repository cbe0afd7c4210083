package parquet

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go/format"
)

// taker decodes pages of one chunk and gathers some of their rows in another.
type taker struct {
	*chunk
	column column
	raw    rawPage
	page   page
	buf    []byte // of the window
	torn   bool   // the gathered entries begin within a group of rows
}

// takers keep the memory of pages: as many as columns that are copied
// concurrently.
var takers = sync.Pool{New: func() any { return &taker{column: column{scratch: true}} }}

// newTaker returns a taker that gathers rows of a chunk of b in c.
func newTaker(c *chunk, b *batch, m *columnMeta) *taker {
	t := takers.Get().(*taker)
	t.chunk, t.page, t.torn = c, page{}, false
	t.column.node, t.column.codec, t.column.left, t.column.dict = b.f.leaves[c.node.leaf], m.Codec, m.NumValues, values{}
	t.column.budget, t.column.pageBytes, t.column.rowBytes, t.column.dictBytes = b.budget, 0, 0, 0
	return t
}

func (t *taker) free() {
	t.chunk = nil
	t.column.budget.release(t.column.pageBytes + t.column.dictBytes)
	takers.Put(t)
}

func (t *taker) window(src io.ReaderAt, at, end, ahead int64) window {
	return window{src: src, at: at, end: end, ahead: ahead, buf: t.buf[:0]}
}

// all reads the chunk of a light leaf.
func (t *taker) all(b *batch, m *columnMeta) error {
	start, end := span(m)
	w := t.window(b.src, start, end, readAhead)
	defer func() { t.buf = w.buf }()
	picks, next := b.picks, int64(0)
	for len(picks) > 0 {
		if err := t.column.next(&w, &t.raw, &t.page); errors.Is(err, io.EOF) {
			return badPage("the column ended after %d rows", next)
		} else if err != nil {
			return err
		}
		if t.page.rows < 0 {
			return badPage("it does not say how many rows it has")
		}
		if err := t.take(next, picks); err != nil {
			return err
		}
		next += int64(t.page.rows)
		for len(picks) > 0 && picks[0].to <= next {
			picks = picks[1:]
		}
	}
	return nil
}

// some decodes one page of a heavy leaf.
func (t *taker) some(src io.ReaderAt, p located, picks []pick) error {
	w := t.window(src, p.Offset, p.Offset+int64(p.CompressedPageSize), int64(p.CompressedPageSize))
	defer func() { t.buf = w.buf }()
	t.column.left = maxValues
	if err := t.column.next(&w, &t.raw, &t.page); err != nil {
		return err
	}
	if int64(t.page.rows) != p.end-p.FirstRowIndex {
		return badPage("it has %d rows; its index says %d", t.page.rows, p.end-p.FirstRowIndex)
	}
	return t.take(p.FirstRowIndex, picks)
}

// take gathers the picked rows of a page whose first row is first.
func (t *taker) take(first int64, picks []pick) error {
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
	for i := range picks {
		k := &picks[i]
		from, to := max(k.from, first), min(k.to, end)
		if from >= to {
			continue
		}
		begin := p.entry(at, from-next)
		value += p.there(&t.column, at, begin)
		at = p.entry(begin, to-from)
		there := p.there(&t.column, begin, at)
		if err := t.before(k, from, at-begin); err != nil {
			return err
		}
		t.gathered.take(p, begin, at, value, value+there)
		t.gathered.rows += int(to - from)
		value, next = value+there, to
		if err := t.after(k, to); err != nil {
			return err
		}
	}
	return nil
}

// before ends the page of a heavy leaf when it must not be shared with the next
// entries.
func (t *taker) before(k *pick, from int64, entries int) error {
	if !t.heavy {
		return nil
	}
	size := int64(t.raw.header.UncompressedPageSize) * int64(entries) / int64(t.page.entries)
	if t.gathered.entries > 0 && size >= joinPage {
		if err := t.endPage(); err != nil {
			return err
		}
	}
	if t.gathered.entries == 0 {
		t.torn = !k.begins || from > k.from
	}
	return nil
}

// after ends a full page.
func (t *taker) after(k *pick, to int64) error {
	full := t.size >= pageBytes
	if t.heavy && k.ends && to == k.to {
		full = t.size >= joinPage || t.torn
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

// there returns the number of values of entries [from, to).
func (p *page) there(c *column, from, to int) int {
	if p.defs == nil {
		return to - from
	}
	return count(p.defs[from:to], byte(c.def))
}

// take gathers entries [from, to) of a page, whose values are [first, end).
func (g *gathered) take(p *page, from, to, first, end int) {
	g.entries += to - from
	g.there += end - first
	if p.reps != nil {
		g.reps = append(g.reps, p.reps[from:to]...)
	}
	if p.defs != nil {
		g.defs = append(g.defs, p.defs[from:to]...)
	}
	v, n := &p.values, int64(end-first)
	switch g.node.kind {
	case format.Boolean:
		for _, b := range v.bools[first:end] {
			bit := byte(0)
			if b {
				bit = 1
			}
			g.bits = append(g.bits, bit)
		}
		g.size += n
	case format.Int32:
		g.i32 = append(g.i32, v.i32[first:end]...)
		g.size += 4 * n
	case format.Int64:
		g.i64 = append(g.i64, v.i64[first:end]...)
		g.size += 8 * n
	case format.Float:
		g.f32 = append(g.f32, v.f32[first:end]...)
		g.size += 4 * n
	case format.Double:
		g.f64 = append(g.f64, v.f64[first:end]...)
		g.size += 8 * n
	case format.ByteArray:
		for _, s := range v.strs[first:end] {
			g.text = append(g.text, s...)
			g.offsets = append(g.offsets, uint32(len(g.text)))
			g.size += int64(len(s))
		}
	}
}
