// Package faulty wraps a bucket to make it slow and unreliable, for tests of
// code that must cope with that. Which operations fail is a function of the
// seed, the operation, its key and how often it was called; the timing of
// goroutines does not matter.
//
// A lost response is the fault that is easily forgotten: the object is visible,
// but its writer gets an error. Name the operation "published".
package faulty

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/storage"
)

// Options say which faults occur. The zero value causes none.
type Options struct {
	Seed    int64
	Rate    float64       // share of operations that fail, 0 to 1
	Ops     []string      // only these of storage.Hook's operations; nil: all but published
	After   int           // this many first operations succeed
	Err     error         // what failing ones return; default storage.ErrTemporary
	Latency time.Duration // of every operation
}

// Faults injects failures into every bucket that it wraps. It is safe for
// concurrent use.
type Faults struct {
	o      Options
	mu     sync.Mutex
	seen   int
	asked  map[[2]string]int
	failed int
}

// New returns the faults that o describes.
func New(o Options) *Faults {
	if o.Err == nil {
		o.Err = storage.ErrTemporary
	}
	return &Faults{o: o, asked: map[[2]string]int{}}
}

// Wrap returns the bucket with the faults.
func (f *Faults) Wrap(b *storage.Bucket) *storage.Bucket { return b.WithHook(f.hook) }

// Failed returns how many operations were made to fail.
func (f *Faults) Failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

var errInjected = errors.New("injected fault")

func (f *Faults) hook(op, key string) error {
	if f.o.Latency > 0 {
		time.Sleep(f.o.Latency)
	}
	if f.o.Ops == nil && op == "published" || f.o.Ops != nil && !slices.Contains(f.o.Ops, op) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	nth := f.asked[[2]string{op, key}]
	f.asked[[2]string{op, key}]++
	if f.seen <= f.o.After || f.chance(op, key, nth) >= f.o.Rate {
		return nil
	}
	f.failed++
	return fmt.Errorf("%w (%w)", f.o.Err, errInjected)
}

// chance returns a number in [0, 1).
func (f *Faults) chance(op, key string, nth int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %q %d", f.o.Seed, op, key, nth)
	n := h.Sum64()
	n = (n ^ n>>33) * 0xff51afd7ed558ccd // FNV's high bits alone are not random enough
	n = (n ^ n>>33) * 0xc4ceb9fe1a85ec53
	return float64((n^n>>33)>>11) / (1 << 53)
}
