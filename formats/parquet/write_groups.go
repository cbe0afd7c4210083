package parquet

import (
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// MaxTogether bounds the uncompressed bytes that WriteGroups adds.
const MaxTogether = 2 << 20

// WriteGroups adds several example groups, of which each ends before the row with its
// index in ends, and gives the same bytes as a Write for each. It goes through the
// columns once for all of them: without it, importing chats of some hundred bytes, a
// row each, takes 11 % more processor time. It returns false, and adds nothing, for
// groups that do not all fit into the row group, or have more than MaxTogether bytes:
// these are for Write.
func (w *Writer[T]) WriteGroups(rows []T, ends []int) (bool, error) {
	g := w.current
	if w.closed || w.failed != nil || len(rows) == 0 || len(g.ranges) > 0 || !w.Fits(len(rows)) {
		return false, w.failed
	}
	in, total := layout.RowSliceOf(rows), int64(0)
	w.together = w.together[:0]
	for _, c := range g.chunks {
		t := c.addTogether(in)
		w.together = append(w.together, t)
		total += t.bytes
	}
	heavy := len(g.heavy) > 0 // else only rows bound a row group
	// Pages with their levels have less than twice the bytes of their values.
	if total > MaxTogether || heavy && (g.bytes+total > rowGroupBytes || g.heavySize()+2*total > layout.HeavyBytes) {
		for i, c := range g.chunks {
			c.columnBuffer = w.together[i].before
		}
		return false, nil
	}
	if heavy {
		g.bytes += total
	}
	for i, c := range g.chunks {
		if w.failed = c.endTogether(w.together[i], in, ends); w.failed != nil {
			return false, w.failed
		}
	}
	w.rows += int64(len(rows))
	g.rows += int64(len(rows))
	return true, nil
}

// together is what rows add to a column. The rows of most columns are added at once,
// although a page may end among them: to take them back then costs less than to
// measure all rows before.
type together struct {
	before columnBuffer
	bytes  int64 // uncompressed
	added  bool
}

func (c *chunk) addTogether(rows layout.RowSlice) together {
	before := c.columnBuffer
	// Pages of heavy leaves are small. A column's size has no nulls, the bytes of rows have them.
	if c.heavy || c.ZeroIsNull() {
		return together{before: before, bytes: c.BytesOf(rows)}
	}
	c.addRows(rows)
	return together{before: before, bytes: c.size - before.size, added: true}
}

// endTogether ends pages where Writer.add ends them: if there are any, it adds the groups
// of the rows one by one.
func (c *chunk) endTogether(t together, rows layout.RowSlice, ends []int) error {
	switch end := t.before.size+t.bytes >= c.full() || c.paged && t.bytes >= joinPage; {
	case end:
		c.columnBuffer = t.before
		return c.addExampleGroups(rows, ends)
	case !t.added:
		c.addRows(rows)
	}
	return nil
}

// full is the size from which a page of several example groups ends.
func (c *chunk) full() int64 {
	if c.heavy {
		return joinPage
	}
	return pageBytes
}

// addExampleGroups adds example groups, and ends their pages.
func (c *chunk) addExampleGroups(rows layout.RowSlice, ends []int) error {
	from := 0
	for _, end := range ends {
		if err := c.addExampleGroup(rows.Between(from, end)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// addExampleGroup adds an example group, and ends its pages: of a heavy or paged leaf
// for which it alone fills a page, it shares none.
func (c *chunk) addExampleGroup(rows layout.RowSlice) error {
	alone := (c.heavy || c.paged) && c.BytesOf(rows) >= joinPage
	if alone {
		if err := c.endPage(); err != nil {
			return err
		}
	}
	if c.addRows(rows); !alone && c.size < c.full() {
		return nil
	}
	return c.endPage()
}
