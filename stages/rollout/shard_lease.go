package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/dataset/shards"
)

// turn is the exclusive right to make a shard's attempts. Two commands that
// make them at once would pay for each twice, and only one row of each would be
// kept.
type turn struct {
	shard *shards.Shard
	lease *lease.Lease
}

// take waits until no other rollout of the shard is running. If another has
// finished it, the shard is UpToDate.
func (t *turn) take(ctx context.Context, o Options) (err error) {
	waiting := func(owner lease.Owner, since time.Time) {
		o.Logger().Warn("another rollout of this shard is at work; waiting", "host", owner.Host, "pid", owner.PID,
			"since", since)
	}
	if t.lease, err = lease.Take(ctx, t.shard.Lease(), o.Lease, waiting, o.Logger()); err != nil {
		if ctx.Err() != nil {
			return interrupted{ctx.Err()}
		}
		return err
	}
	// The previous owner may have finished after this one's first check.
	if _, err = t.shard.Finished(ctx); err != nil {
		err = errors.Join(err, t.lease.Release(ctx))
	}
	return err
}

// again waits for the process that took the shard over.
func (t *turn) again(ctx context.Context, o Options) error {
	o.Logger().Warn("another rollout took this shard over, or may have: this one could not send its heartbeat in time; " +
		"waiting for it")
	return errors.Join(t.lease.Release(ctx), t.take(ctx, o))
}
