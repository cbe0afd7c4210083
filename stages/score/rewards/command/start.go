package command

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
)

const startTime = 3 * time.Second // for a program to report that it cannot start

// tryStart starts the program, which has to succeed if its input ends at once, or wait for
// its input.
func (r *reward) tryStart(ctx context.Context) error {
	var err error
	for _, waits := range []bool{false, true} {
		if err = r.startOnce(ctx, waits); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (r *reward) startOnce(ctx context.Context, waits bool) error {
	p, err := r.start(ctx)
	if err != nil {
		return err
	}
	if !waits {
		p.in.Close()
	}
	ended := false
	select {
	case <-p.Done():
		ended = true
	case <-time.After(startTime):
	case <-ctx.Done():
	}
	p.kill(0)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ended && (waits || p.Err() != nil):
		return p.explain(&failure{class: outcomes.RewardCrashed, text: "the program ended before any request", ended: true})
	}
	return nil
}
