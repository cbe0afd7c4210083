package sandbox

import (
	"context"
	"sync"
	"time"
)

// traffic knows which training calls are running, from their first byte on: a question about a
// call must not be answered "nothing" while the call is still being read.
type traffic struct {
	mu      sync.Mutex
	unread  int              // their model is not known yet
	calls   map[modelKey]int // being trained, or about to
	changed chan struct{}    // closed, and replaced, when one ends
}

func newTraffic() *traffic {
	return &traffic{calls: map[modelKey]int{}, changed: make(chan struct{})}
}

// arrive records a call. The caller names its model once it is known, and calls
// leave in any case.
func (t *traffic) arrive() (known func(modelKey), leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread++
	var key *modelKey
	known = func(k modelKey) {
		t.mu.Lock()
		defer t.mu.Unlock()
		key = &k
		t.calls[k]++
		t.unread--
		t.wake()
	}
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if key == nil {
			t.unread--
		} else {
			t.calls[*key]--
		}
		t.wake()
	}
	return known, leave
}

func (t *traffic) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *traffic) busy(key modelKey) (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unread > 0 || t.calls[key] > 0, t.changed
}

// settle waits until no call for the model is running, at most for the limit,
// and reports whether one still is.
func (t *traffic) settle(ctx context.Context, key modelKey, limit time.Duration) (busy bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		busy, changed := t.busy(key)
		if !busy {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return true
		}
	}
}
