package parquet

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// chunkPages are the pages of a chunk of a file from which a paged leaf is
// copied; none if they cannot be copied.
type chunkPages struct {
	f        *layout.File
	rowGroup int
	pages    []pageLocation
}

// copyPaged adds rows to a paged leaf: their pages, if these have no other rows,
// else their values. The ranges are those of the rows.
func (c *chunk) copyPaged(ranges []rowRange, rows layout.RowSlice) error {
	for at := 0; len(ranges) > 0; {
		n, to := 1, at+int(ranges[0].to-ranges[0].from)
		for ; n < len(ranges) && ranges[n].f == ranges[0].f && ranges[n].rowGroup == ranges[0].rowGroup; n++ {
			to += int(ranges[n].to - ranges[n].from)
		}
		b := &batch{f: ranges[0].f, src: ranges[0].f.Src, rowGroup: ranges[0].rowGroup, ranges: ranges[:n]}
		pages, err := c.wholePages(b)
		if err != nil {
			return b.Fail(c, err)
		}
		if pages == nil {
			err = c.addExampleGroup(rows.Between(at, to))
		}
		for n := 0; len(pages) > 0 && err == nil; pages = pages[n:] {
			n = adjacentPages(pages)
			err = c.appendPages(b, pages[:n])
		}
		if err != nil {
			return err
		}
		ranges, at = ranges[n:], to
	}
	return nil
}

// wholePages returns the pages that have the selected rows and no others, nil if
// there are none. Files that are fetched ahead have none: their rows were fetched
// already, with the values.
func (c *chunk) wholePages(b *batch) (pages []selectedPage, err error) {
	if b.f.Ahead > 0 {
		return nil, nil
	}
	if s := &c.source; s.f != b.f || s.rowGroup != b.rowGroup {
		*s = chunkPages{f: b.f, rowGroup: b.rowGroup}
		x := &b.f.Meta.RowGroups[b.rowGroup].Columns[c.Node.Leaf]
		if plainPages(x, c.enc) && x.ColumnIndexLength == 0 { // pages with bounds would lose them
			if s.pages, err = b.locate(b.src, c); err != nil {
				return nil, err
			}
		}
	}
	for i := range b.ranges {
		k := &b.ranges[i]
		at, found := slices.BinarySearchFunc(c.source.pages, k.from, func(p pageLocation, row int64) int {
			return cmp.Compare(p.FirstRowIndex, row)
		})
		if !found {
			return nil, nil
		}
		for _, p := range c.source.pages[at:] {
			if p.FirstRowIndex >= k.to {
				break
			}
			if p.end > k.to {
				return nil, nil
			}
			pages = append(pages, selectedPage{p, b.ranges[i : i+1], true})
		}
	}
	return pages, nil
}
