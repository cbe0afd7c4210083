package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// Place stores a lease: one small object. Read returns nil if there is none.
// Swap writes next if the content is exactly old, nil for none, and reports
// whether it did; of concurrent swaps of the same content one succeeds.
type Place interface {
	Read(ctx context.Context) ([]byte, error)
	Swap(ctx context.Context, old, next []byte) (bool, error)
}

// ErrTaken is the cause with which an owner's work ends when another process
// has taken over, or may soon do so.
var ErrTaken = errors.New("another process took this work over, or may have: this one could not send its heartbeat in time")

type record struct {
	Owner   Owner     `json:"owner"`
	Since   time.Time `json:"since"`
	Seconds float64   `json:"lease_seconds"`
	Beat    int64     `json:"beat"`
}

// Lease is held by this process until it is released or another process takes
// it. It is safe for concurrent use.
type Lease struct {
	place Place
	ttl   time.Duration
	taken context.Context // ends when another has it, or may have
	lose  context.CancelCauseFunc
	end   context.CancelFunc
	done  chan struct{} // closed when renewing has ended

	mu      sync.Mutex
	record  record
	raw     []byte // the content of the place
	renewed Moment
}

// Take waits until no other process holds the place, and takes it. waiting is
// called with each owner that it waits for.
func Take(ctx context.Context, place Place, ttl time.Duration, waiting func(Owner, time.Time),
	log *slog.Logger) (*Lease, error) {
	return acquire(ctx, place, ttl, waiting, func(Owner) error { return nil }, log)
}

// Try takes the place as Take does, but waits only until it knows that the owner lives, which
// is an error of kind temporary that names work.
func Try(ctx context.Context, place Place, ttl time.Duration, work string, log *slog.Logger) (*Lease, error) {
	return acquire(ctx, place, ttl, func(Owner, time.Time) {}, func(owner Owner) error {
		return fault.Errorf(fault.Temporary, "run the same command again when it has ended", "%s is at work: %s", work, owner)
	}, log)
}

func acquire(ctx context.Context, place Place, ttl time.Duration, waiting func(Owner, time.Time), alive func(Owner) error,
	log *slog.Logger) (*Lease, error) {
	reported := "nobody"
	for {
		current, err := place.Read(ctx)
		if err != nil {
			return nil, err
		}
		var there record
		_ = json.Unmarshal(current, &there) // an unreadable one is waited for as well
		if current != nil && !there.Owner.Gone() {
			if reported != there.Owner.ID {
				reported = there.Owner.ID
				waiting(there.Owner, there.Since)
			}
			lives, err := Watch(ctx, Silence(cmp.Or(there.Seconds, ttl.Seconds())),
				func(ctx context.Context) (string, bool, error) {
					now, err := place.Read(ctx)
					return string(now), now == nil || there.Owner.Gone(), err
				})
			if err != nil {
				return nil, err
			}
			if lives {
				if err := alive(there.Owner); err != nil {
					return nil, err
				}
				continue
			}
		}
		l := &Lease{place: place, ttl: ttl, done: make(chan struct{}), renewed: Now(),
			record: record{Owner: Self(), Since: time.Now().UTC().Truncate(time.Second), Seconds: ttl.Seconds()}}
		won, err := l.put(ctx, current)
		if err != nil {
			return nil, err
		}
		if won { // else another was faster, or the owner released it
			l.hold(ctx, log)
			return l, nil
		}
	}
}

func (l *Lease) put(ctx context.Context, old []byte) (bool, error) {
	next, err := json.MarshalIndent(l.record, "", " ")
	if err != nil {
		return false, fmt.Errorf("writing a lease: %w", err)
	}
	next = append(next, '\n')
	won, err := l.place.Swap(ctx, old, next)
	if won {
		l.raw = next
	}
	return won, err
}

func (l *Lease) hold(ctx context.Context, log *slog.Logger) {
	ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	l.taken, l.lose = context.WithCancelCause(context.Background())
	go func() {
		defer close(l.done)
		Every(ctx, l.ttl/4, l.renew, log)
	}()
}

func (l *Lease) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken.Err() != nil {
		return nil
	}
	began := Now()
	ctx, cancel := context.WithTimeout(ctx, l.ttl/2)
	defer cancel()
	l.record.Beat++
	won, err := l.put(ctx, l.raw)
	if err == nil && !won {
		won, err = l.stillOwned(ctx)
	}
	switch {
	case err != nil:
		if l.renewed.Late(l.ttl) {
			l.lose(ErrTaken)
		}
		return err
	case won:
		l.renewed = began
	default:
		l.lose(ErrTaken)
	}
	return nil
}

// stillOwned reports whether the place holds this process's record all the same: the
// answer to a renewal was lost.
func (l *Lease) stillOwned(ctx context.Context) (bool, error) {
	current, err := l.place.Read(ctx)
	var there record
	if err != nil || json.Unmarshal(current, &there) != nil || there.Owner.ID != l.record.Owner.ID {
		return false, err
	}
	l.raw = current
	return true, nil
}

// Check returns ErrTaken if another process has the lease, or may have. It renews the lease if
// the last renewal is so old, by any clock, that this process may have slept.
func (l *Lease) Check(ctx context.Context) error {
	l.mu.Lock()
	old := l.renewed.Since() > l.ttl/2
	l.mu.Unlock()
	if old {
		_ = l.renew(ctx) // a failure counts when it is late
	}
	return context.Cause(l.taken)
}

// Bind returns a context that ends, with ErrTaken, when another takes over, or may soon do so.
func (l *Lease) Bind(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.taken, func() { cancel(ErrTaken) })
	return bound, func() { stop(); cancel(nil) }
}

// Release frees the place if it is this process's, so that no process has to
// wait. A nil Lease holds none.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.end()
	<-l.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	won, err := l.place.Swap(ctx, l.raw, nil)
	if err == nil && !won {
		if won, err = l.stillOwned(ctx); won {
			_, err = l.place.Swap(ctx, l.raw, nil)
		}
	}
	return err
}
