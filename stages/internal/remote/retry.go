package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// Retry calls do up to so many times, until it succeeds or fails permanently: see
// fault.Retry. Pauses are up to 64 times the first. An error is retried, unless it is
// permanent (fault.Permanent) or an *Error without Retry.
func Retry[T any](ctx context.Context, tries uint, first time.Duration, do func() (T, error)) (T, error) {
	return fault.Retry(ctx, fault.Policy{Tries: tries, First: first, Most: 64 * first}, func() (T, error) {
		out, err := do()
		var e *Error
		switch {
		case !errors.As(err, &e):
		case !e.Retry:
			err = fault.Permanent(err)
		default:
			err = fault.After(err, e.After)
		}
		return out, err
	})
}

// RetryAfter returns err so that Retry waits before the next try for as long as
// the headers of an answer ask for, if they do.
func RetryAfter(err error, h http.Header) error { return fault.After(err, After(h, time.Now())) }

// Again repeats an idempotent call while an *Error says that it may succeed
// later. It returns the last error of do.
func Again(ctx context.Context, do func() error) error {
	const tries, first = 5, 200 * time.Millisecond
	var last error
	_, err := Retry(ctx, tries, first, func() (struct{}, error) {
		last = do()
		if e := (*Error)(nil); last != nil && (ctx.Err() != nil || !errors.As(last, &e)) {
			return struct{}{}, fault.Permanent(last)
		}
		return struct{}{}, last
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
