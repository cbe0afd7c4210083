package storage

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// attempts is how often an object store is asked for one thing. Its client
// library repeats a request by itself a few times within each.
const attempts = 5

// retry calls f again while it fails for a moment, if the bucket is in an
// object store.
func (b *Bucket) retry(ctx context.Context, f func() error) error {
	if b.far == nil {
		return f()
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 100 * time.Millisecond
	pauses.MaxInterval = 5 * time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := f()
		if err != nil && kindOf(err) != ErrTemporary {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(attempts))
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // clients hide it behind what else went wrong then
	}
	return err
}
