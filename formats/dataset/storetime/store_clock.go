package storetime

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
)

// clockKey is an object that is written to learn the store's time.
const clockKey = manifest.Private + "clock"

// Now returns the time of a store: that of an object which is written and removed
// again. The times of other objects are compared with it alone: the clocks of two
// machines may differ by hours. What a process that dies leaves of it, the next
// call removes.
//
// The time is the one of a listing, as those that it is compared with are: a
// store may list parts of a second and answer a question about one object in
// whole seconds, and then what was written just before would seem to be later.
func Now(ctx context.Context, b *storage.Bucket) (time.Time, error) {
	for {
		if err := b.Write(ctx, clockKey, nil); err != nil {
			return time.Time{}, err
		}
		for o, err := range b.List(ctx, clockKey) {
			if err == nil {
				err = b.Delete(ctx, clockKey)
			}
			return o.ModTime, err
		} // else another process removed it
	}
}

// Coarse returns the most by which the times of two objects of a store may differ
// from the order in which they were written.
func Coarse(b *storage.Bucket) time.Duration {
	if _, local := b.Local(); local {
		return 20 * time.Millisecond
	}
	return time.Second
}

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
	var now time.Time
	var age time.Duration
	for tries := 0; tries < 10; tries++ { // a pause within makes what is older look newer
		before, err := time.Now(), error(nil)
		if now, err = Now(ctx, b); err != nil {
			return false, err
		}
		age = max(time.Since(at), time.Since(at.Round(0))) // the machine may have slept
		if time.Since(before) < Coarse(b) {
			break
		}
	}
	object, err := b.Stat(ctx, key)
	if err != nil {
		return false, err
	}
	since := object.ModTime.Sub(now.Add(-age))
	return since > Coarse(b) && since <= age+Coarse(b), nil
}
