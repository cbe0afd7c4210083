package remote

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// tries is how often something without an effect is asked.
const tries = 5

// Again does what may be repeated, again while its error says that it may
// succeed later.
func Again(ctx context.Context, do func() error) error {
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = do()
		var e *Error
		switch {
		case last == nil:
			return struct{}{}, nil
		case ctx.Err() != nil || !errors.As(last, &e) || !e.Retry:
			return struct{}{}, backoff.Permanent(last)
		case e.After > 0:
			return struct{}{}, &backoff.RetryAfterError{Duration: e.After}
		}
		return struct{}{}, last
	}, backoff.WithMaxTries(tries), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 200 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 10 * time.Second,
	}))
	if err != nil && last != nil {
		return last
	}
	return err
}
