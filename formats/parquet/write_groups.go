package parquet

// MaxTogether bounds the uncompressed bytes that WriteGroups adds.
const MaxTogether = 2 << 20

// Heavy reports whether rows have heavy leaves. Others are for Write, which takes 15 %
// more processor time for them than WriteGroups would; that of score and group as a
// whole is the same.
func (w *Writer[T]) Heavy() bool { return w.sizes != nil }

// WriteGroups adds several example groups, of which each ends before the row with its
// index in ends, and gives the same bytes as a Write for each. It goes through the
// columns once for all of them: without it, importing chats of some hundred bytes, a
// row each, takes 11 % more processor time. It returns false, and adds nothing, for
// groups that do not all fit into the row group, have more than MaxTogether bytes, or
// are not Heavy: these are for Write.
func (w *Writer[T]) WriteGroups(rows []T, ends []int) (bool, error) {
	g := w.current
	if !w.Heavy() || w.closed || w.failed != nil || len(rows) == 0 || w.unknown != nil || len(g.ranges) > 0 ||
		!w.Fits(len(rows)) {
		return false, w.failed
	}
	in := rowSliceOf(rows)
	w.sizes.measureAll(in)
	total := w.sizes.total
	// Pages with their levels have less than twice the bytes of their values.
	if total > MaxTogether || g.bytes+total > rowGroupBytes || g.heavySize()+2*total > heavyBytes {
		return false, nil
	}
	for _, c := range g.chunks {
		if w.failed = c.addExampleGroups(in, ends, w.sizes.columns[c.node.leaf]); w.failed != nil {
			return false, w.failed
		}
	}
	w.rows += int64(len(rows))
	g.rows += int64(len(rows))
	g.bytes += total
	return true, nil
}

// addExampleGroups adds example groups that have so many bytes in the column together,
// and ends its pages where Writer.add ends them.
func (c *chunk) addExampleGroups(rows rowSlice, ends []int, bytes int64) error {
	full := int64(pageBytes)
	if c.heavy {
		full = joinPage
	}
	if c.size+bytes < full && !(c.paged && bytes >= joinPage) {
		c.addRows(rows)
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
