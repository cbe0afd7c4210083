package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/internal/lease"
)

// turn is the right to make a shard's attempts. Two commands that do so at once
// would pay for each twice, though only one row of each would be kept.
type turn struct {
	shard *dataset.Shard
	lease *lease.Lease
}

// take waits until no other rollout of the shard is at work. When another has
// finished it, the shard is UpToDate.
func (o Options) take(ctx context.Context, shard *dataset.Shard) (*turn, error) {
	t := &turn{shard: shard}
	return t, t.take(ctx, o)
}

func (t *turn) take(ctx context.Context, o Options) (err error) {
	waiting := func(owner lease.Owner, since time.Time) {
		o.Logger().Warn("another rollout of this shard is at work; waiting", "host", owner.Host, "pid", owner.PID, "since", since)
	}
	if t.lease, err = lease.Take(ctx, t.shard.Slot(), o.Lease, waiting, o.Logger()); err != nil {
		if ctx.Err() != nil {
			return interrupted{ctx.Err()}
		}
		return err
	}
	// The one before may have finished between this one's first look and now.
	if _, err = t.shard.Finished(ctx); err != nil {
		err = errors.Join(err, t.lease.Release(ctx))
	}
	return err
}

// again waits for the process that took the shard over.
func (t *turn) again(ctx context.Context, o Options) error {
	o.Logger().Warn("another rollout took this shard over while this one was silent; nothing more is asked from here until it has ended")
	return errors.Join(t.lease.Release(ctx), t.take(ctx, o))
}
