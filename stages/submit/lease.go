package submit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// lease shows that its owner is at work: it is written anew four times in the
// time that it holds. Whoever wants to know watches it, by a clock of its own,
// and takes the owner for dead when nothing was written for one and a half
// times as long. The clocks of two machines are never compared.
type lease struct {
	Owner    string `json:"owner"`
	Beat     int64  `json:"beat"`
	Released bool   `json:"released,omitempty"` // the owner has ended and left the attempt open
}

// maxLease bounds what an attempt may ask others to wait.
const maxLease = time.Hour

// silence is how long an attempt's lease must stay as it is until its owner
// counts as dead.
func (l *ledger) silence(a *attempt) time.Duration {
	ttl := time.Duration(a.Lease * float64(time.Second))
	if ttl <= 0 || ttl > maxLease {
		ttl = maxLease
	}
	return ttl + ttl/2
}

// gone reports whether an attempt's owner has certainly ended.
func (a *attempt) gone() bool {
	return a.Owner.gone() || a.lease != nil && a.lease.Owner == a.Owner.ID && a.lease.Released
}

// watch waits until it is known whether the owner of an open attempt is at
// work, and returns the attempt as it is then. It sees the owner renew the
// lease or end the attempt, or it sees neither for the time of silence.
func (l *ledger) watch(ctx context.Context, a *attempt) (_ *attempt, alive bool, err error) {
	limit, seen := l.silence(a), a.beat()
	var waited time.Duration // on the clock that stops while the machine sleeps, until before a was read
	for first := time.Now(); ; {
		if a.done != nil || a.damage != nil || a.gone() {
			return a, false, nil
		}
		if a.beat() != seen {
			return a, true, nil
		}
		if waited >= limit {
			return a, false, nil
		}
		select {
		case <-ctx.Done():
			return a, false, context.Cause(ctx)
		case <-time.After(min(time.Second, max(limit/20, 10*time.Millisecond))):
		}
		waited = time.Since(first)
		next, err := l.last(ctx)
		if err != nil {
			return a, false, err
		}
		if next == nil || next.Attempt != a.Attempt {
			return a, true, nil // somebody else has gone on
		}
		a = next
	}
}

// beat changes with every sign of life.
func (a *attempt) beat() string {
	text := a.Owner.ID
	if a.lease != nil {
		text += fmt.Sprint(a.lease.Owner, a.lease.Beat)
	}
	return text + fmt.Sprint(a.sent != nil, a.job != nil)
}

// uptime goes on while the machine sleeps, where the system has such a clock.
func uptime() time.Duration {
	data, err := os.ReadFile("/proc/uptime")
	if err == nil {
		first, _, _ := bytes.Cut(data, []byte(" "))
		if seconds, err := strconv.ParseFloat(string(first), 64); err == nil {
			return time.Duration(seconds * float64(time.Second))
		}
	}
	return time.Since(processBegan)
}

var processBegan = time.Now()

// moment is a point in time on every clock that there is. They disagree after
// the machine slept, or the process was stopped.
type moment struct {
	monotonic, wall time.Time
	up              time.Duration
}

func now() moment {
	t := time.Now()
	return moment{t, t.Round(0), uptime()}
}

// since is the longest time that any of the clocks says.
func (m moment) since() time.Duration {
	n := now()
	wall := n.wall.Sub(m.wall)
	if wall < 0 { // set back: it may have passed any time
		wall = -wall
	}
	return max(n.monotonic.Sub(m.monotonic), wall, n.up-m.up)
}

// holding renews a lease in the background.
type holding struct {
	l       *ledger
	attempt int
	ctx     context.Context
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	beat    int64
	renewed moment // when the last renewal began that is known to stand
	checked moment // when the attempt was last read and was ours
	lost    error
}

func (l *ledger) hold(ctx context.Context, in intent, began moment, log *slog.Logger) *holding {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &holding{l: l, attempt: in.Attempt, ctx: ctx, stop: stop, done: make(chan struct{}), renewed: began}
	go func() {
		defer close(h.done)
		tick := time.NewTicker(l.ttl / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := h.renew(ctx); err != nil && ctx.Err() == nil {
					log.Warn("the lease was not renewed", "error", err)
				}
			}
		}
	}()
	return h
}

func (h *holding) renew(ctx context.Context) error {
	h.mu.Lock()
	h.beat++
	beat := h.beat
	h.mu.Unlock()
	began := now()
	ctx, cancel := context.WithTimeout(ctx, h.l.ttl)
	defer cancel()
	if err := write(ctx, h.l.store, h.l.path(h.attempt, "lease"), lease{Owner: h.l.me.ID, Beat: beat}); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = began
	return nil
}

var errLeaseLost = stages.Errorf(stages.KindTemporary, "run the same command again",
	"submit: the lease of this submission ran out (the process was stopped, or the ledger could not be reached); nothing more is sent")

var errTaken = stages.Errorf(stages.KindTemporary, "run the same command again",
	"submit: another process took this submission over; nothing more is sent from here")

// guard fails well before anybody may take the owner for dead, and once
// somebody has. It reads the ledger when the last look at it is old by any
// clock.
func (h *holding) guard() error {
	h.mu.Lock()
	fresh := h.lost == nil && h.checked.since() < min(h.l.ttl/8, time.Second)
	h.mu.Unlock()
	if fresh {
		return nil
	}
	return h.fence(h.ctx)
}

// fence reads the attempt again, whatever the clocks say.
func (h *holding) fence(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = h.look(ctx)
	}
	return h.lost
}

func (h *holding) look(ctx context.Context) error {
	if h.renewed.since() > h.l.ttl*3/4 {
		return errLeaseLost
	}
	began := now()
	ctx, cancel := context.WithTimeout(ctx, h.l.ttl/2)
	defer cancel()
	a, err := h.l.last(ctx)
	switch {
	case err != nil:
		return stages.Errorf(stages.KindTemporary, "run the same command again", "submit: the ledger could not be read again before sending: %w", err)
	case a == nil || a.damage != nil:
		return stages.Errorf(stages.KindPerson, "look at the ledger; run the same command again for what to do", "submit: the ledger lost the records of this submission while it was sent; nothing more is sent")
	case a.Attempt != h.attempt || a.Owner.ID != h.l.me.ID || a.taken != nil || a.done != nil || a.sent == nil || a.sent.Owner != h.l.me.ID:
		return errTaken
	case h.renewed.since() > h.l.ttl*3/4:
		return errLeaseLost
	}
	h.checked = began
	return nil
}

// end stops renewing. An attempt that stays open is released, so that the
// next run need not wait.
func (h *holding) end(ctx context.Context, open bool) error {
	h.stop()
	<-h.done
	if !open {
		return nil
	}
	return write(ctx, h.l.store, h.l.path(h.attempt, "lease"), lease{Owner: h.l.me.ID, Beat: h.beat + 1, Released: true})
}
