package fault

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy says how often something is tried, and how long the pauses are: about First, then
// about twice the one before, up to Most.
type Policy struct {
	Tries       uint
	First, Most time.Duration
}

// Retry calls do until it succeeds, fails permanently or was tried often enough. A pause that an
// error asks for (After) has precedence. If ctx ends during a pause, the error is the cause. The
// tries have no time of their own here: do gives each one.
func Retry[T any](ctx context.Context, p Policy, do func() (T, error)) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = p.First, 2, p.Most
	n, _ := ctx.Value(retriesKey{}).(*atomic.Int64)
	again := false
	return backoff.Retry(ctx, func() (T, error) {
		if again && n != nil {
			n.Add(1)
		}
		again = true
		return do()
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(p.Tries), backoff.WithMaxElapsedTime(0))
}

// Permanent marks an error that Retry returns at once.
func Permanent(err error) error { return backoff.Permanent(err) }

// IsPermanent reports whether an error is marked so.
func IsPermanent(err error) bool {
	var permanent *backoff.PermanentError
	return errors.As(err, &permanent)
}

// After marks an error with the pause that a service asks for; 0 leaves the usual one.
func After(err error, pause time.Duration) error {
	if pause <= 0 {
		return err
	}
	return &waitError{err, &backoff.RetryAfterError{Duration: pause}}
}

type waitError struct {
	error
	wait *backoff.RetryAfterError
}

func (e *waitError) Unwrap() []error { return []error{e.error, e.wait} }

type retriesKey struct{}

// CountRetries returns a context in which every repeated request to a service or a store adds 1
// to n. Those that a client library repeats itself are not counted.
func CountRetries(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, retriesKey{}, n)
}
