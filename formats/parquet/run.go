package parquet

import (
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// runBytes is the size of what is copied at once, unless a page is larger.
const runBytes = 2 << 20

// run is adjacent pages of a file that are copied unchanged when the chunk is
// written, so that memory holds two runs and not the pages of a row group.
type run struct {
	after int // bytes of the chunk's own pages before it
	b     *batch
	pages []wanted
}

// splice appends whole adjacent pages.
func (c *chunk) splice(b *batch, pages []wanted) error {
	if err := c.endPage(); err != nil {
		return err
	}
	c.runs = append(c.runs, run{after: c.body.Len(), b: b, pages: pages})
	for i := range pages {
		p := &pages[i]
		c.pages = append(c.pages, format.PageLocation{Offset: c.length(), CompressedPageSize: p.CompressedPageSize, FirstRowIndex: c.rows})
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

// write writes the chunk's pages. The next run is read and verified while one
// is written.
func (c *chunk) write(out func([]byte) error) error {
	if len(c.runs) == 0 {
		return out(c.body.Bytes())
	}
	ahead, stop := make(chan loaded, 1), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for i := range c.runs {
			l := c.load(&c.runs[i])
			select {
			case ahead <- l:
			case <-stop:
				return
			}
		}
	})
	defer reading.Wait()
	defer close(stop)
	own, at := c.body.Bytes(), 0
	for i := range c.runs {
		r, l := &c.runs[i], <-ahead
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
		*l.data = make([]byte, max(size, runBytes))
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
