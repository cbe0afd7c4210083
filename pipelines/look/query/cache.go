package query

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
)

// Cache keeps the indexes that were used last, within a number of bytes. It builds
// each once, for all who ask at the same time, and does not stop when they do. It is
// safe for concurrent use.
type Cache struct {
	ctx         context.Context // of the building
	limit       int64
	lastWritten func(*dataset.Dataset) string

	mu      sync.Mutex
	entries []*entry // the one used last at the end
}

// NewCache returns a cache of indexes of at most so many bytes; the one used last is
// kept however large it is. What it builds ends with ctx. lastWritten returns a text that
// changes when the datasets beside one do, so that its index is built again.
func NewCache(ctx context.Context, limit int64, lastWritten func(*dataset.Dataset) string) *Cache {
	return &Cache{ctx: ctx, limit: limit, lastWritten: lastWritten}
}

type entry struct {
	digest      string
	lastWritten string
	total       int64
	read        atomic.Int64
	done        chan struct{}
	x           *Index
	err         error
}

// Progress is how far an index is.
type Progress struct{ Read, Rows int64 }

// Begin starts building the index of a dataset that will probably be asked for.
func (c *Cache) Begin(d *dataset.Dataset) { c.entry(d) }

// Index returns the index of a dataset, built if need be. If ctx ends first, it
// returns how far the index is, and the error of ctx.
func (c *Cache) Index(ctx context.Context, d *dataset.Dataset) (*Index, Progress, error) {
	e := c.entry(d)
	select {
	case <-e.done:
		c.trim()
		return e.x, Progress{e.total, e.total}, e.err
	case <-ctx.Done():
		return nil, Progress{e.read.Load(), e.total}, context.Cause(ctx)
	}
}

// entry returns the entry of a dataset, and starts building it if it is new.
func (c *Cache) entry(d *dataset.Dataset) *entry {
	digest, lastWritten := d.Ref("", d.URI()).Digest, c.lastWritten(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.digest != digest {
			continue
		}
		c.entries = slices.Delete(c.entries, i, i+1)
		if e.lastWritten == lastWritten {
			c.entries = append(c.entries, e)
			return e
		}
		break
	}
	e := &entry{digest: digest, lastWritten: lastWritten, total: d.Rows, done: make(chan struct{})}
	c.entries = append(c.entries, e)
	go func() {
		defer close(e.done)
		e.x, e.err = c.build(d, e)
		if e.err != nil { // it may be there the next time
			c.mu.Lock()
			defer c.mu.Unlock()
			c.entries = slices.DeleteFunc(c.entries, func(o *entry) bool { return o == e })
		}
	}()
	return e
}

func (c *Cache) build(d *dataset.Dataset, e *entry) (*Index, error) {
	s, err := SourcesOf(c.ctx, d)
	if err != nil {
		return nil, err
	}
	var all errgroup.Group
	warm := func(d *dataset.Dataset, table string) {
		if d != nil {
			d.KeepFooters(keptFooters)
			all.Go(func() error { return d.Warm(c.ctx, table) })
		}
	}
	warm(s.Base, "")
	warm(s.Scores, "")
	warm(s.Members, "")
	warm(s.Decisions, schema.TableDecisions)
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return Build(c.ctx, s, e.read.Store)
}

// keptFooters is how many bytes of the ends of a dataset's parts are kept in
// memory: what a group or a trajectory then costs are the pages that hold it.
const keptFooters = 8 << 20

// trim removes the indexes that were not used for longest, until the others fit.
func (c *Cache) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var total int64
	for i := len(c.entries) - 1; i >= 0; i-- {
		e := c.entries[i]
		select {
		case <-e.done:
		default:
			continue // being built
		}
		if e.x != nil {
			total += e.x.Bytes()
		}
		if total > c.limit && i < len(c.entries)-1 {
			c.entries = slices.Delete(c.entries, i, i+1)
		}
	}
}
