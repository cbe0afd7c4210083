package dataset

import (
	"context"
	"errors"
	"time"

	"github.com/rollmill/rollmill/storage"
)

// clockKey is an object that is written to learn the store's time.
const clockKey = private + "clock"

// Now returns the time of a store: that of an object which is written and removed
// again. The times of other objects are compared with it alone: the clocks of two
// machines may differ by hours. What a process that dies leaves of it, the next
// call removes.
func Now(ctx context.Context, b *storage.Bucket) (time.Time, error) {
	for {
		if err := b.Write(ctx, clockKey, nil); err != nil {
			return time.Time{}, err
		}
		o, err := b.Stat(ctx, clockKey)
		if errors.Is(err, storage.ErrNotExist) {
			continue // another process removed it
		}
		if err == nil {
			err = b.Delete(ctx, clockKey)
		}
		return o.ModTime, err
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
