package submit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/storage/fault"
)

// heartbeat shows that its owner is alive: the owner rewrites it four times within the lease.
// Each observer measures by its own clock, and treats the owner as dead when nothing was written
// for one and a half times the lease. The clocks of two machines are never compared.
type heartbeat struct {
	Owner    string `json:"owner"`
	Beat     int64  `json:"beat"`
	Sent     bool   `json:"sent,omitempty"`     // sent.json exists: if it does not, it was deleted
	Released bool   `json:"released,omitempty"` // the owner has ended and left the attempt open
}

// gone reports whether an attempt's owner has certainly ended: its process does
// not exist, or it released the lease.
func (a *attempt) gone() bool {
	return a.Owner.Gone() || a.lease != nil && a.lease.Owner == a.Owner.ID && a.lease.Released
}

// watch waits until it is known whether the owner of an open attempt is alive,
// and returns the attempt as it is then. A living owner renews the lease or ends
// the attempt within the time of silence; a dead one does neither.
func (l *ledger) watch(ctx context.Context, a *attempt) (_ *attempt, alive bool, err error) {
	looked := false
	alive, err = lease.Watch(ctx, lease.Silence(a.Lease), func(ctx context.Context) (string, bool, error) {
		if looked {
			next, err := l.last(ctx)
			if err != nil {
				return "", false, err
			}
			if next == nil || next.Attempt != a.Attempt {
				return "another process has continued", false, nil
			}
			a = next
		}
		looked = true
		return a.beat(), a.done != nil || a.damage != nil || a.gone(), nil
	})
	return a, alive, err
}

// beat changes with every heartbeat.
func (a *attempt) beat() string {
	text := a.Owner.ID
	if a.lease != nil {
		text += fmt.Sprint(a.lease.Owner, a.lease.Beat)
	}
	return text + fmt.Sprint(a.sent != nil, a.job != nil)
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
	sent    bool
	renewed lease.Moment // when the last successful renewal began
	checked lease.Moment // when the attempt was last read and belonged to this process
	lost    error
}

func (l *ledger) hold(ctx context.Context, in intent, began lease.Moment, log *slog.Logger) *holding {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &holding{l: l, attempt: in.Attempt, ctx: ctx, stop: stop, done: make(chan struct{}), renewed: began}
	go func() {
		defer close(h.done)
		lease.Every(ctx, l.ttl/4, h.renew, log)
	}()
	return h
}

func (h *holding) renew(ctx context.Context) error {
	h.mu.Lock()
	h.beat++
	beat, sent := h.beat, h.sent
	h.mu.Unlock()
	began := lease.Now()
	ctx, cancel := context.WithTimeout(ctx, h.l.ttl)
	defer cancel()
	if err := write(ctx, h.l.store, h.l.path(h.attempt, "lease"),
		heartbeat{Owner: h.l.me.ID, Beat: beat, Sent: sent}); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = began
	return nil
}

// recorded renews the lease once sent.json exists.
func (h *holding) recorded(ctx context.Context) error {
	h.mu.Lock()
	h.sent = true
	h.mu.Unlock()
	return h.renew(ctx)
}

var errLeaseLost = fault.Errorf(fault.Temporary, "run the same command again",
	"submit: the lease of this submission ran out (the process was stopped, or the ledger could not be reached); nothing "+
		"more is sent")

var errTaken = fault.Errorf(fault.Temporary, "run the same command again",
	"submit: another process took this submission over; nothing more is sent from here")

// guard returns an error well before another process may treat this one as dead, and after one
// did. It reads the ledger again if the last read is old by any clock of this machine.
func (h *holding) guard() error {
	h.mu.Lock()
	fresh := h.lost == nil && h.checked.Since() < min(h.l.ttl/8, time.Second)
	h.mu.Unlock()
	if fresh {
		return nil
	}
	return h.fence(h.ctx)
}

// fence reads the attempt again, however recent the last read is.
func (h *holding) fence(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = h.look(ctx)
	}
	return h.lost
}

func (h *holding) look(ctx context.Context) error {
	if h.renewed.Late(h.l.ttl) {
		return errLeaseLost
	}
	began := lease.Now()
	ctx, cancel := context.WithTimeout(ctx, h.l.ttl/2)
	defer cancel()
	a, err := h.l.last(ctx)
	switch {
	case err != nil:
		return fault.Errorf(fault.Temporary, "run the same command again",
			"submit: the ledger could not be read again before sending: %w", err)
	case a == nil || a.damage != nil:
		return fault.Errorf(fault.Person, "look at the ledger; run the same command again for what to do",
			"submit: the ledger lost the records of this submission while it was sent; nothing more is sent")
	case a.Attempt != h.attempt || a.Owner.ID != h.l.me.ID || a.taken != nil || a.done != nil || a.sent == nil ||
		a.sent.Owner != h.l.me.ID:
		return errTaken
	case h.renewed.Late(h.l.ttl):
		return errLeaseLost
	}
	h.checked = began
	return nil
}

// end stops the renewal. An attempt that stays open is released, so that the next
// run does not have to wait.
func (h *holding) end(ctx context.Context, open bool) error {
	h.stop()
	<-h.done
	if !open {
		return nil
	}
	return write(ctx, h.l.store, h.l.path(h.attempt, "lease"),
		heartbeat{Owner: h.l.me.ID, Beat: h.beat + 1, Sent: h.sent, Released: true})
}
