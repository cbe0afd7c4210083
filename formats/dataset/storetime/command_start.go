package storetime

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/storage"
)

type beganKey struct{}

// Began returns a context for a command that began at a moment, with its
// monotonic clock. Begin then replaces no dataset that was written after it, even
// if the process was stopped before it looked.
func Began(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, beganKey{}, at)
}

// Newer reports whether an object was written after the command began, as Began
// gives it to the context; without, it is false. Only the store's clock and this
// machine's own durations count: the clocks of two machines may differ by hours. An
// object from the store's future tells nothing.
func Newer(ctx context.Context, b *storage.Bucket, key string) (bool, error) {
	at, ok := ctx.Value(beganKey{}).(time.Time)
	if !ok {
		return false, nil
	}
	now, err := Now(ctx, b)
	if err != nil {
		return false, err
	}
	age := max(time.Since(at), time.Since(at.Round(0))) // the machine may have slept
	object, err := b.Stat(ctx, key)
	if err != nil {
		return false, err
	}
	since := object.ModTime.Sub(now.Add(-age))
	return since > Coarse(b) && since <= age+Coarse(b), nil
}
