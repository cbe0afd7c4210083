package engines

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestLimitsShrinkAndGrow: by 429 at once, by latency gently, once for calls
// of one time, and never below one.
func TestLimitsShrinkAndGrow(t *testing.T) {
	o := Settings{Endpoints: []string{"u"}, Connections: 16, Slowdown: 10, HealthEvery: time.Second, Log: slog.New(slog.DiscardHandler)}
	b := newBalance(&o, nil)
	e := b.list[0]
	now := time.Unix(1000, 0)
	take := func(n int) {
		for range n {
			if _, err := b.acquire(t.Context(), "g", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(10)
	began := now
	for range 10 {
		now = now.Add(time.Millisecond)
		b.release(e, throttled, began, now, 0)
	}
	if e.limit < 6.9 || e.limit > 7.1 {
		t.Errorf("after 429 for ten calls at once the limit is %v", e.limit)
	}
	take(7)
	if e.free() {
		t.Error("an eighth call is let through")
	}
	for range 7 {
		b.release(e, answered, now, now, time.Millisecond)
	}
	if e.limit < 7.9 || e.limit > 8.1 {
		t.Errorf("after a round of answers the limit is %v", e.limit)
	}
	take(8)
	now = now.Add(time.Second)
	b.release(e, answered, now, now, 11*time.Millisecond)
	if e.limit < 7.1 || e.limit > 7.3 {
		t.Errorf("after a token took 11 times as long the limit is %v", e.limit)
	}
	for range 100 {
		now = now.Add(time.Second)
		b.release(e, throttled, now, now, 0)
		e.calls++
	}
	if e.limit != 1 {
		t.Errorf("the limit is %v", e.limit)
	}
	e.calls = 1
	for range 1000 {
		b.release(e, answered, now, now, time.Millisecond)
		e.calls++
	}
	if e.limit != 16 {
		t.Errorf("the limit grew to %v", e.limit)
	}
}

// TestWaitingCallsGoInTheOrderInWhichTheyCame, whatever their groups, and one
// that is given up takes no place.
func TestWaitingCallsGoInTheOrderInWhichTheyCame(t *testing.T) {
	const calls = 100
	o := Settings{Endpoints: []string{"http://a.test/v1", "http://b.test/v1"}, Connections: 1, Slowdown: 10, HealthEvery: time.Second, Log: slog.New(slog.DiscardHandler)}
	b := newBalance(&o, nil)
	defer b.close()
	var held []*endpoint
	for range 2 {
		e, err := b.acquire(t.Context(), "first", nil)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, e)
	}
	given, gone := make(chan int, calls), errors.New("gone")
	ended, end := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	for i := range calls {
		ctx := t.Context()
		if i%10 == 3 {
			ctx = ended
		}
		all.Go(func() {
			e, err := b.acquire(ctx, strconv.Itoa(i%7), held[i%2])
			if err == nil {
				given <- i
				b.release(e, neither, time.Time{}, time.Time{}, 0)
			} else if i%10 != 3 || err != gone {
				t.Errorf("call %d: %v", i, err)
			}
		})
		for waiting := 0; waiting <= i; runtime.Gosched() {
			b.mu.Lock()
			waiting = b.queue.Len()
			b.mu.Unlock()
		}
	}
	end(gone)
	for waiting := calls; waiting > calls-calls/10; runtime.Gosched() {
		b.mu.Lock()
		waiting = b.queue.Len()
		b.mu.Unlock()
	}
	b.release(held[0], neither, time.Time{}, time.Time{}, 0) // one place for all
	all.Wait()
	close(given)
	last, n := -1, 0
	for i := range given {
		if i < last {
			t.Errorf("call %d went after call %d", i, last)
		}
		last, n = i, n+1
	}
	if b.release(held[1], neither, time.Time{}, time.Time{}, 0); n != calls-calls/10 || b.queue.Len() != 0 || b.list[0].calls+b.list[1].calls != 0 {
		t.Errorf("%d calls went; %d wait, %d and %d are under way", n, b.queue.Len(), b.list[0].calls, b.list[1].calls)
	}
}
