package parquet

import (
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// batch is rows of one row group, ascending, that are copied together.
type batch struct {
	f        *layout.File
	src      io.ReaderAt
	rowGroup int
	ranges   []rowRange

	budget *layout.Budget // of all columns
}

// first returns the row group's first row in the file.
func (b *batch) first() (rows int64) {
	for _, g := range b.f.Meta.RowGroups[:b.rowGroup] {
		rows += g.NumRows
	}
	return rows
}

// Fetch reads the needed pages into memory with a few requests: first the
// positions of the heavy pages, then these pages and the light chunks.
func (b *batch) Fetch(chunks []*chunk) error {
	columns := b.f.Meta.RowGroups[b.rowGroup].Columns
	var indexes, wanted []layout.Extent
	for _, c := range chunks {
		x := &columns[c.Node.Leaf]
		if start, end := layout.Span(&x.MetaData); c.Payload && c.heavy {
			indexes = append(indexes, layout.Extent{Off: x.OffsetIndexOffset, End: x.OffsetIndexOffset + int64(x.OffsetIndexLength)})
		} else if c.Payload {
			wanted = append(wanted, layout.Extent{Off: start, End: end})
		}
	}
	found, err := b.f.Fetch(indexes)
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if !c.Payload || !c.heavy {
			continue
		}
		err := b.pages(found, c, func(p pageLocation, ranges []rowRange) error {
			wanted = append(wanted, layout.Extent{Off: p.Offset, End: p.Offset + int64(p.CompressedPageSize)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	rest, err := b.f.Fetch(wanted)
	if err != nil {
		return err
	}
	rest.Extents = append(rest.Extents, found.Extents...)
	b.src = rest
	return nil
}

// pageLocation is a page's position, and the row after its last.
type pageLocation struct {
	format.PageLocation
	end int64
}

// stop returns where the page ends in its file.
func (p *pageLocation) stop() int64 { return p.Offset + int64(p.CompressedPageSize) }

// pages calls f with every page of a heavy leaf that has rows to copy, and with
// the ranges that have rows in it.
func (b *batch) pages(src io.ReaderAt, c *chunk, f func(pageLocation, []rowRange) error) error {
	pages, err := b.locate(src, c)
	if err != nil {
		return err
	}
	ranges := b.ranges
	for _, p := range pages {
		for len(ranges) > 0 && ranges[0].to <= p.FirstRowIndex {
			ranges = ranges[1:]
		}
		n := 0
		for n < len(ranges) && ranges[n].from < p.end {
			n++
		}
		if n == 0 {
			continue
		}
		if err := f(p, ranges[:n]); err != nil {
			return err
		}
	}
	return nil
}

// locate returns the pages of a leaf, which must follow each other without a gap.
func (b *batch) locate(src io.ReaderAt, c *chunk) ([]pageLocation, error) {
	rowGroup := &b.f.Meta.RowGroups[b.rowGroup]
	x := &rowGroup.Columns[c.Node.Leaf]
	locations, err := layout.PagesOf(src, x)
	if err != nil {
		return nil, err
	}
	pages := make([]pageLocation, len(locations))
	at, end := layout.Span(&x.MetaData)
	for i, l := range locations {
		p := pageLocation{l, rowGroup.NumRows}
		if i+1 < len(locations) {
			p.end = locations[i+1].FirstRowIndex
		}
		if p.Offset != at || p.CompressedPageSize < 0 || i == 0 && p.FirstRowIndex != 0 || p.end <= p.FirstRowIndex ||
			p.end > rowGroup.NumRows {
			return nil, layout.BadPage("its index places page %d at byte %d, rows %d to %d", i, p.Offset, p.FirstRowIndex, p.end)
		}
		at += int64(p.CompressedPageSize)
		pages[i] = p
	}
	if at != end {
		return nil, layout.BadPage("its index places its pages up to byte %d, not %d", at, end)
	}
	return pages, nil
}

// whole reports whether every row of the page is copied.
func (p *pageLocation) whole(ranges []rowRange) bool {
	next := p.FirstRowIndex
	for _, k := range ranges {
		if k.from > next {
			return false
		}
		next = k.to
	}
	return next >= p.end
}

// selectedPage is a page of a heavy leaf, and the ranges that have rows in it.
type selectedPage struct {
	pageLocation
	ranges []rowRange
	whole  bool // every row of it is copied
}

// copyBatches copies the chunk's column of every batch; whole pages are only located: see write.
func (c *chunk) copyBatches(batches []*batch) error {
	for _, b := range batches {
		if err := c.copyBatch(b); err != nil {
			return b.Fail(c, err)
		}
	}
	return nil
}

func (b *batch) Fail(c *chunk, err error) error {
	return b.f.Fail(c.Name, b.rowGroup, b.first()+b.ranges[0].from, err)
}

func (c *chunk) copyBatch(b *batch) (err error) {
	defer refusePanic(&err)
	m := &b.f.Meta.RowGroups[b.rowGroup].Columns[c.Node.Leaf].MetaData
	t := newRowCopier(c, b, m)
	defer t.free()
	if !c.heavy {
		return t.addChunk(b, m)
	}
	var pages []selectedPage
	err = b.pages(b.src, c, func(p pageLocation, ranges []rowRange) error {
		pages = append(pages, selectedPage{p, ranges, p.whole(ranges)})
		return nil
	})
	for n := 0; len(pages) > 0 && err == nil; pages = pages[n:] {
		n = 1
		if !pages[0].whole {
			err = t.addPage(b.src, pages[0].pageLocation, pages[0].ranges)
			continue
		}
		n = adjacentPages(pages)
		err = c.appendPages(b, pages[:n])
	}
	return err
}

// refusePanic turns a panic of parquet-go, on bytes that all checks accepted, into an error.
func refusePanic(err *error) {
	if v := recover(); v != nil {
		*err = layout.BadPage("%v", v)
	}
}

// checkPage checks a page against its chunk and its index.
func (c *chunk) checkPage(head *format.PageHeader, p *pageLocation, body []byte) error {
	h := &head.DataPageHeaderV2.V
	switch {
	case head.Type != format.DataPageV2 || !head.DataPageHeaderV2.Valid || h.Encoding != c.enc:
		return layout.BadPage("it is not of the kind that its chunk says")
	case int64(h.NumRows) != p.end-p.FirstRowIndex:
		return layout.BadPage("it has %d rows; its index says %d", h.NumRows, p.end-p.FirstRowIndex)
	case int(head.CompressedPageSize) != len(body) || head.UncompressedPageSize < 0 || head.UncompressedPageSize > layout.MaxPage ||
		h.NumValues < h.NumRows || h.NumNulls < 0 || h.NumNulls > h.NumValues:
		return layout.BadPage("it claims %d bytes, %d inflated, %d values", head.CompressedPageSize, head.UncompressedPageSize,
			h.NumValues)
	case head.CRC != 0 && uint32(head.CRC) != crc32.ChecksumIEEE(body):
		return layout.BadPage("its checksum is wrong")
	}
	return nil
}
