package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rollmill/rollmill/stages"
)

// Retry calls do up to so many times, until it succeeds or fails permanently.
// The first wait is about as long as first, and each further one about twice
// the previous, up to 64 times the first; a wait that the service asks for has
// precedence. An error is retried, unless it is Permanent or an *Error without
// Retry. If ctx ends during a wait, the error is the cause.
func Retry[T any](ctx context.Context, tries uint, first time.Duration, do func() (T, error)) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = first, 2, 64*first
	again := false
	return backoff.Retry(ctx, func() (T, error) {
		if again {
			stages.Retried(ctx)
		}
		again = true
		out, err := do()
		var e *Error
		switch {
		case !errors.As(err, &e):
		case !e.Retry:
			err = Permanent(err)
		default:
			err = waiting(err, e.After)
		}
		return out, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0))
}

// Permanent marks an error that Retry returns at once.
func Permanent(err error) error { return backoff.Permanent(err) }

// RetryAfter returns err so that Retry waits before the next try for as long as
// the headers of an answer ask for, if they do.
func RetryAfter(err error, h http.Header) error { return waiting(err, After(h, time.Now())) }

// waiting returns the error unchanged if there is no time to wait: a busy
// service that says 0 gets the usual pause.
func waiting(err error, wait time.Duration) error {
	if wait <= 0 {
		return err
	}
	return &waitError{err, &backoff.RetryAfterError{Duration: wait}}
}

type waitError struct {
	error
	wait *backoff.RetryAfterError
}

func (e *waitError) Unwrap() []error { return []error{e.error, e.wait} }

// Again repeats an idempotent call while an *Error says that it may succeed
// later. It returns the last error of do.
func Again(ctx context.Context, do func() error) error {
	const tries, first = 5, 200 * time.Millisecond
	var last error
	_, err := Retry(ctx, tries, first, func() (struct{}, error) {
		last = do()
		if e := (*Error)(nil); last != nil && (ctx.Err() != nil || !errors.As(last, &e)) {
			return struct{}{}, Permanent(last)
		}
		return struct{}{}, last
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
