package parquet

import "unsafe"

// MaxTogether bounds the uncompressed bytes that WriteGroups adds.
const MaxTogether = 2 << 20

// WriteGroups adds several example groups, of which each ends before the row with its
// index in ends, and gives the same bytes as a Write for each. It takes a
// fraction of the time for groups of few small rows, as it goes through the
// columns once for all of them. It returns false, and adds nothing, for groups
// that do not all fit into the row group, or have more than MaxTogether bytes:
// these are for Write.
func (w *Writer[T]) WriteGroups(rows []T, ends []int) (bool, error) {
	g := w.current
	if w.closed || w.failed != nil || len(rows) == 0 || w.unknown != nil || len(g.ranges) > 0 || !w.Fits(len(rows)) {
		return false, w.failed
	}
	in, s := rowSliceOf(rows), w.sizes
	if s == nil { // where Write measures nothing, a bound will do
		if w.maxSizes == nil {
			w.maxSizes = newSizes(w.layout.leaves, false)
			w.maxSizes.maxima = true
		}
		s = w.maxSizes
	}
	s.measureAll(in)
	// Pages with their levels have less than twice the bytes of their values.
	if s.total > MaxTogether || w.sizes != nil && (g.bytes+s.total > rowGroupBytes || g.heavySize()+2*s.total > heavyBytes) {
		return false, nil
	}
	for _, c := range g.chunks {
		if w.failed = c.addExampleGroups(in, ends, s.columns[c.node.leaf], s.lists[c.node.leaf]); w.failed != nil {
			return false, w.failed
		}
	}
	w.rows += int64(len(rows))
	g.rows += int64(len(rows))
	if w.sizes != nil {
		g.bytes += s.total
	}
	return true, nil
}

// addExampleGroups adds example groups that have so many bytes in the column together,
// and ends its pages where Writer.add ends them. list is the list above the
// column, nil for none.
func (c *chunk) addExampleGroups(rows rowSlice, ends []int, bytes int64, list *sharedList) error {
	full := int64(pageBytes)
	if c.heavy {
		full = joinPage
	}
	if c.size+bytes < full && !(c.paged && bytes >= joinPage) {
		if list == nil || !c.addShared(rows, list) {
			c.addRows(rows)
		}
		return nil
	}
	from := 0
	for _, end := range ends {
		group := rows.between(from, end)
		from = end
		if c.paged {
			if err := c.addExampleGroup(group); err != nil {
				return err
			}
			continue
		}
		if c.heavy && c.bytesOf(group) >= joinPage {
			if err := c.endPage(); err != nil {
				return err
			}
		}
		if c.addRows(group); c.size < full {
			continue
		}
		if err := c.endPage(); err != nil {
			return err
		}
	}
	return nil
}

// addExampleGroup adds an example group to a paged leaf, and ends its pages.
func (c *chunk) addExampleGroup(rows rowSlice) error {
	alone := c.bytesOf(rows) >= joinPage
	if alone {
		if err := c.endPage(); err != nil {
			return err
		}
	}
	if c.addRows(rows); !alone && c.size < pageBytes {
		return nil
	}
	return c.endPage()
}

// between returns the rows from one index to before another.
func (r rowSlice) between(from, end int) rowSlice {
	return rowSlice{base: unsafe.Add(r.base, uintptr(from)*r.stride), stride: r.stride, n: end - from}
}

// bytesOf returns the uncompressed bytes of the leaf's values in rows.
func (l *leaf) bytesOf(rows rowSlice) (n int64) {
	for i := range rows.n {
		n += l.bytes(unsafe.Add(rows.base, uintptr(i)*rows.stride), l.lists)
	}
	return n
}
