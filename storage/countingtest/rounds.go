package countingtest

import (
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/storage"
)

// Rounds delays every request to the buckets that it wraps, and counts how many
// follow one another: the longest sequence in which each begins after the one
// before has ended. With a store that takes 30 ms for each, a command waits this
// many times 30 ms, however many requests it makes.
type Rounds struct {
	Latency time.Duration

	mu       sync.Mutex
	ended    int // of the longest sequence that has ended
	requests int
}

// Wrap returns the bucket with its requests delayed and counted.
func (r *Rounds) Wrap(b *storage.Bucket) *storage.Bucket { return b.WithHook(r.hook) }

// Count returns the longest sequence so far, and the number of requests.
func (r *Rounds) Count() (rounds, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended, r.requests
}

// requests are the operations that are one.
var requests = []string{"publish", "read", "stat", "range", "list", "delete"}

func (r *Rounds) hook(op, _ string) error {
	if !slices.Contains(requests, op) {
		return nil
	}
	r.mu.Lock()
	own := r.ended + 1
	r.requests++
	r.mu.Unlock()
	time.Sleep(r.Latency)
	r.mu.Lock()
	r.ended = max(r.ended, own)
	r.mu.Unlock()
	return nil
}
