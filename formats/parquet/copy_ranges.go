package parquet

import (
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/page"
)

// rangeBytes is the size of what is copied at once, unless a page is larger.
const rangeBytes = 1 << 20

// pageRange is adjacent pages of a file that are copied unchanged when the chunk is
// written, so that memory holds two ranges and not the pages of a row group.
type pageRange struct {
	after int // bytes that are the chunk's own before it
	batch *batch
	pages []selectedPage
}

// adjacentPages returns how many of the first pages, of which one is whole, are a range.
func adjacentPages(pages []selectedPage) int {
	n := 1
	for n < len(pages) && pages[n].whole && pages[n].Offset == pages[n-1].stop() &&
		pages[n].stop()-pages[0].Offset <= rangeBytes {
		n++
	}
	return n
}

func (c *chunk) appendPages(b *batch, pages []selectedPage) error {
	if err := c.endPage(); err != nil {
		return err
	}
	c.pageRanges = append(c.pageRanges, pageRange{after: c.body.Len(), batch: b, pages: pages})
	if !c.heavy {
		c.bounds = append(c.bounds, bounds{}) // not recorded
	}
	for i := range pages {
		p := &pages[i]
		p.ranges = nil // they are not needed any more, and hold their file
		c.pages = append(c.pages,
			format.PageLocation{Offset: c.length(), CompressedPageSize: p.CompressedPageSize, FirstRowIndex: c.rows})
		c.rows += p.end - p.FirstRowIndex
		c.rangeSize += int64(p.CompressedPageSize)
	}
	return nil
}

type rangeData struct {
	data *[]byte
	err  error
}

// rangeBuffers keep the memory of ranges.
var rangeBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writeRanges writes ranges and the chunk's own bytes between them. The next range is
// read and verified while one is written.
func (c *chunk) writeRanges(own []byte, ranges []pageRange, out func([]byte) error) error {
	if len(ranges) == 0 {
		return out(own)
	}
	ahead, stop := make(chan rangeData, 1), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for i := range ranges {
			l := c.readRange(&ranges[i])
			select {
			case ahead <- l:
			case <-stop:
				return
			}
		}
	})
	defer reading.Wait()
	defer close(stop)
	at := 0
	for i := range ranges {
		r, l := &ranges[i], <-ahead
		if l.err != nil {
			return r.batch.Fail(c, l.err)
		}
		if err := out(own[at:r.after]); err != nil {
			return err
		}
		if err := out(*l.data); err != nil {
			return err
		}
		rangeBuffers.Put(l.data)
		at = r.after
	}
	return out(own[at:])
}

// readRange reads a range, verifies its pages and counts what they hold.
func (c *chunk) readRange(r *pageRange) (l rangeData) {
	defer refusePanic(&l.err)
	first := r.pages[0].Offset
	size := int(r.pages[len(r.pages)-1].stop() - first)
	l.data = rangeBuffers.Get().(*[]byte)
	if cap(*l.data) < size {
		*l.data = make([]byte, size+size/4)
	}
	*l.data = (*l.data)[:size]
	if l.err = layout.ReadAt(r.batch.src, *l.data, first); l.err != nil {
		return l
	}
	var protocol thrift.CompactProtocol
	var head format.PageHeader
	for i := range r.pages {
		p := &r.pages[i].pageLocation
		body := (*l.data)[p.Offset-first : p.stop()-first]
		length, err := page.DecodeHeader(&protocol, body, &head)
		if err != nil {
			l.err = layout.BadPage("its header: %v", err)
			return l
		}
		if l.err = c.checkPage(&head, p, body[length:]); l.err != nil {
			return l
		}
		h := &head.DataPageHeaderV2.V
		c.entries += int64(h.NumValues)
		c.nulls += int64(h.NumNulls)
		c.inflated += int64(length) + int64(head.UncompressedPageSize)
	}
	return l
}
