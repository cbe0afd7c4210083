package submit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// lease says how long its owner is to be taken for alive.
type lease struct {
	Owner    string    `json:"owner"`
	Expires  time.Time `json:"expires"`
	Released bool      `json:"released,omitempty"` // the owner has ended and left the attempt open
}

// alive tells whether an attempt's owner may still be at work. The half lease
// on top is for clocks that differ; the owner itself stops a quarter early.
func (l *ledger) alive(a *attempt) bool {
	expires := a.Expires
	if a.lease != nil && a.lease.Owner == a.Owner.ID {
		if a.lease.Released {
			return false
		}
		expires = a.lease.Expires
	}
	return l.now().Before(expires.Add(l.ttl/2)) && !a.Owner.gone()
}

// holding renews a lease in the background.
type holding struct {
	l       *ledger
	attempt int
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	expires time.Time
}

func (l *ledger) hold(ctx context.Context, in intent, log *slog.Logger) *holding {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &holding{l: l, attempt: in.Attempt, stop: stop, done: make(chan struct{}), expires: in.Expires}
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
	expires := h.l.now().Add(h.l.ttl)
	if err := write(ctx, h.l.store, h.l.path(h.attempt, "lease"), lease{Owner: h.l.me.ID, Expires: expires}); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expires = expires
	return nil
}

var errLeaseLost = stages.Errorf(stages.KindTemporary, "run the same command again",
	"submit: the lease of this submission ran out (the process was stopped, or the ledger could not be reached); nothing more is sent")

// guard fails well before anybody may take the owner for dead.
func (h *holding) guard() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.l.now().After(h.expires.Add(-h.l.ttl / 4)) {
		return errLeaseLost
	}
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
	return write(ctx, h.l.store, h.l.path(h.attempt, "lease"), lease{Owner: h.l.me.ID, Expires: h.l.now(), Released: true})
}
