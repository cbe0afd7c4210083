package parquet

import (
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// runBytes is the size of what is copied at once, unless a page is larger.
const runBytes = 1 << 20

// run is adjacent pages of a file that are copied unchanged when the chunk is
// written, so that memory holds two runs and not the pages of a row group.
type run struct {
	after int // bytes that are the chunk's own before it
	b     *batch
	pages []wanted
}

// runOf returns how many of the first pages, of which one is whole, are a run.
func runOf(pages []wanted) int {
	n := 1
	for n < len(pages) && pages[n].whole && pages[n].Offset == pages[n-1].stop() &&
		pages[n].stop()-pages[0].Offset <= runBytes {
		n++
	}
	return n
}

// splice appends whole adjacent pages.
func (c *chunk) splice(b *batch, pages []wanted) error {
	if err := c.endPage(); err != nil {
		return err
	}
	c.runs = append(c.runs, run{after: c.body.Len(), b: b, pages: pages})
	if !c.heavy {
		c.bounds = append(c.bounds, bounds{}) // not recorded
	}
	for i := range pages {
		p := &pages[i]
		p.picks = nil // they are not needed any more, and hold their file
		c.pages = append(c.pages,
			format.PageLocation{Offset: c.length(), CompressedPageSize: p.CompressedPageSize, FirstRowIndex: c.rows})
		c.rows += p.end - p.FirstRowIndex
		c.away += int64(p.CompressedPageSize)
	}
	return nil
}

// loaded is the bytes of a run.
type loaded struct {
	data *[]byte
	err  error
}

// blocks keep the memory of runs.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

// write writes the chunk's pages.
func (c *chunk) write(out func([]byte) error) error { return c.writeRuns(c.body.Bytes(), c.runs, out) }

// writeRuns writes runs and the chunk's own bytes between them. The next run is
// read and verified while one is written.
func (c *chunk) writeRuns(own []byte, runs []run, out func([]byte) error) error {
	if len(runs) == 0 {
		return out(own)
	}
	ahead, stop := make(chan loaded, 1), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for i := range runs {
			l := c.load(&runs[i])
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
	for i := range runs {
		r, l := &runs[i], <-ahead
		if l.err != nil {
			return r.b.fail(c, l.err)
		}
		if err := out(own[at:r.after]); err != nil {
			return err
		}
		if err := out(*l.data); err != nil {
			return err
		}
		blocks.Put(l.data)
		at = r.after
	}
	return out(own[at:])
}

// load reads a run, verifies its pages and counts what they hold.
func (c *chunk) load(r *run) (l loaded) {
	defer refusePanic(&l.err)
	first := r.pages[0].Offset
	size := int(r.pages[len(r.pages)-1].stop() - first)
	l.data = blocks.Get().(*[]byte)
	if cap(*l.data) < size {
		*l.data = make([]byte, size+size/4)
	}
	*l.data = (*l.data)[:size]
	if l.err = readAt(r.b.src, *l.data, first); l.err != nil {
		return l
	}
	var protocol thrift.CompactProtocol
	var head format.PageHeader
	for i := range r.pages {
		p := &r.pages[i].located
		page := (*l.data)[p.Offset-first : p.stop()-first]
		length, err := decodeHeader(&protocol, page, &head)
		if err != nil {
			l.err = badPage("its header: %v", err)
			return l
		}
		if l.err = c.spliceable(&head, p, page[length:]); l.err != nil {
			return l
		}
		h := &head.DataPageHeaderV2.V
		c.entries += int64(h.NumValues)
		c.nulls += int64(h.NumNulls)
		c.inflated += int64(length) + int64(head.UncompressedPageSize)
	}
	return l
}
