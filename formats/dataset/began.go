package dataset

import (
	"context"
	"time"
)

type beganKey struct{}

// Began returns a context for a command that began at a moment, with its
// monotonic clock. Begin then replaces no dataset that was written after it, even
// if the process was stopped before it looked.
func Began(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, beganKey{}, at)
}

// newer reports whether the manifest was written after the command began. Only
// the store's clock and this machine's own durations count: the clocks of two
// machines may differ by hours. A manifest from the store's future tells nothing.
func (s *Shard) newer(ctx context.Context) (bool, error) {
	at, ok := ctx.Value(beganKey{}).(time.Time)
	if !ok {
		return false, nil
	}
	now, err := Now(ctx, s.bucket)
	if err != nil {
		return false, err
	}
	age := max(time.Since(at), time.Since(at.Round(0))) // the machine may have slept
	manifest, err := s.bucket.Stat(ctx, ManifestFile)
	if err != nil {
		return false, err
	}
	since := manifest.ModTime.Sub(now.Add(-age))
	return since > Coarse(s.bucket) && since <= age+Coarse(s.bucket), nil
}
