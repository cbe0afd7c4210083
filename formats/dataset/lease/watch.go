// Package lease decides which of several processes may do some work, and when
// one without a heartbeat counts as dead.
//
// An owner writes a heartbeat four times within the time of its lease. Waiting processes time it
// by their own clock: the clocks of two machines are never compared. A process on the same
// machine that has ended is noticed at once (Owner.Gone). An owner that slept past its lease
// notices on waking that another took over.
//
// submit keeps its heartbeats in the ledger, among the records that decide what
// was sent; rollout and import keep a Lease, one object that is swapped.
package lease

import (
	"context"
	"log/slog"
	"time"
)

// MaxTTL is the longest lease, and so bounds how long others have to wait.
const MaxTTL = time.Hour

// Silence returns how long the heartbeat of a lease of so many seconds must
// stay unchanged until its owner counts as dead.
func Silence(seconds float64) time.Duration {
	ttl := time.Duration(seconds * float64(time.Second))
	if ttl <= 0 || ttl > MaxTTL {
		ttl = MaxTTL
	}
	return ttl + ttl/2
}

// Watch polls until the heartbeat differs from the first one, or stayed the
// same for the time of silence. look may also report that the owner has ended.
func Watch(ctx context.Context, silence time.Duration,
	look func(context.Context) (sign string, ended bool, err error)) (alive bool, err error) {
	seen, ended, err := look(ctx)
	var waited time.Duration // by the clock that stops while the machine sleeps, until before the last look
	for first := time.Now(); err == nil && !ended && waited < silence; {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(min(time.Second, max(silence/20, 10*time.Millisecond))):
		}
		waited = time.Since(first)
		var sign string
		if sign, ended, err = look(ctx); err == nil && !ended && sign != seen {
			return true, nil
		}
	}
	return false, err
}

// Every renews until ctx ends.
func Every(ctx context.Context, pause time.Duration, renew func(context.Context) error, log *slog.Logger) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := renew(ctx); err != nil && ctx.Err() == nil {
				log.Warn("the lease was not renewed", "error", err)
			}
		}
	}
}
