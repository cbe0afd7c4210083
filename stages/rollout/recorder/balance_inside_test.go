package recorder

import (
	"testing"
	"time"
)

// TestLimitsShrinkAndGrow: by 429 at once, by latency gently, once for calls
// of one time, and never below one.
func TestLimitsShrinkAndGrow(t *testing.T) {
	o := Options{Endpoints: []string{"u"}, Connections: 16}.withDefaults()
	b := newBalance(&o, nil)
	e := b.list[0]
	now := time.Unix(1000, 0)
	take := func(n int) {
		for range n {
			if _, err := b.take(t.Context(), "g", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(10)
	began := now
	for range 10 {
		now = now.Add(time.Millisecond)
		b.done(e, throttled, began, now, 0)
	}
	if e.limit < 6.9 || e.limit > 7.1 {
		t.Errorf("after 429 for ten calls at once the limit is %v", e.limit)
	}
	take(7)
	if e.free() {
		t.Error("an eighth call is let through")
	}
	for range 7 {
		b.done(e, answered, now, now, time.Millisecond)
	}
	if e.limit < 7.9 || e.limit > 8.1 {
		t.Errorf("after a round of answers the limit is %v", e.limit)
	}
	take(8)
	now = now.Add(time.Second)
	b.done(e, answered, now, now, 11*time.Millisecond)
	if e.limit < 7.1 || e.limit > 7.3 {
		t.Errorf("after a token took 11 times as long the limit is %v", e.limit)
	}
	for range 100 {
		now = now.Add(time.Second)
		b.done(e, throttled, now, now, 0)
		e.calls++
	}
	if e.limit != 1 {
		t.Errorf("the limit is %v", e.limit)
	}
	e.calls = 1
	for range 1000 {
		b.done(e, answered, now, now, time.Millisecond)
		e.calls++
	}
	if e.limit != 16 {
		t.Errorf("the limit grew to %v", e.limit)
	}
}
