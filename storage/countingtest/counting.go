// Package countingtest wraps a bucket to count its operations, for tests of what a
// command may cost: one listing, no object read twice. It does not change what
// the bucket does.
package countingtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/storage"
)

// Counter counts the operations of every bucket that it wraps. The zero value
// is ready to use; it is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	ops   map[string]int
	bytes map[string]int64
	keys  map[string]map[string]int
	spans map[string][]Span
}

// Span is a range of an object's bytes; End is exclusive.
type Span struct{ First, End int64 }

// Wrap returns the bucket with its operations counted.
func (c *Counter) Wrap(b *storage.Bucket) *storage.Bucket {
	return b.WithHook(c.count).WithMeter(c.meter)
}

func (c *Counter) count(op, key string) error {
	if op == "published" {
		return nil // the end of an operation that is already counted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ops == nil {
		c.ops, c.keys = map[string]int{}, map[string]map[string]int{}
	}
	if c.keys[op] == nil {
		c.keys[op] = map[string]int{}
	}
	c.ops[op]++
	c.keys[op][key]++
	return nil
}

func (c *Counter) meter(op, key string, off, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes == nil {
		c.bytes, c.spans = map[string]int64{}, map[string][]Span{}
	}
	c.bytes[op] += n
	if op == "range" && n > 0 {
		c.spans[key] = append(c.spans[key], Span{off, off + n})
	}
}

// Spans returns the ranges of an object that were read, in order of time.
func (c *Counter) Spans(key string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans[key])
}

// Ops returns how often an operation of storage.Hook was called.
func (c *Counter) Ops(op string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ops[op]
}

// Of returns how often an operation was called for one key.
func (c *Counter) Of(op, key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[op][key]
}

// Read returns how many bytes were read, as whole objects and as ranges.
func (c *Counter) Read() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes["read"] + c.bytes["range"]
}

// Written returns how many bytes were written, published or not.
func (c *Counter) Written() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes["write"]
}

// Reset sets all counts to zero.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops, c.keys, c.bytes, c.spans = nil, nil, nil, nil
}

// String returns the counts for a failing test's message.
func (c *Counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, op := range slices.Sorted(maps.Keys(c.ops)) {
		out = append(out, fmt.Sprintf("%s %d", op, c.ops[op]))
	}
	return strings.Join(append(out,
		fmt.Sprintf("read %d B, wrote %d B", c.bytes["read"]+c.bytes["range"], c.bytes["write"])), ", ")
}
