package rollout

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// stored takes over a row that was made before. t has the new attempt's ids.
func (r *runner) stored(ctx context.Context, t formats.Trajectory, a agents.Attempt) (formats.Trajectory, bool) {
	limited, cancel := context.WithTimeoutCause(ctx, r.opts.TrajectoryTimeout, errTimeout)
	defer cancel()
	failed := func(stop, class, text string) (formats.Trajectory, bool) {
		Fail(&t, stop, class, text)
		t.FinishedAt = r.opts.Clock().UnixMicro()
		t.SetPayloadDigest()
		return t, true
	}
	old, err := r.opts.agent.Stored(limited, a)
	var failure *agents.Failure
	switch {
	case ctx.Err() != nil:
		return t, false
	case err != nil && limited.Err() != nil:
		return failed(outcomes.StopTimeout, outcomes.FailTimeout, errTimeout.Error())
	case agents.Exhausted(err):
		r.stop(noRoom(err))
		return t, false
	case err != nil && !errors.As(err, &failure):
		r.stop(err) // the input is damaged or cannot be read: no trajectory failed
		return t, false
	case err != nil:
		return failed(outcomes.StopError, failure.Class, err.Error())
	}
	if r.opts.pays() {
		r.spending.Add(int64(old.PromptTokens), int64(old.CompletionTokens))
	}
	old.TrajectoryID, old.Run, old.ExampleID, old.Epoch, old.Generation = t.TrajectoryID, t.Run, t.ExampleID, t.Epoch, t.Generation
	old.Example, old.Attempts, old.StartedAt, old.FinishedAt = t.Example, t.Attempts, t.StartedAt, r.opts.Clock().UnixMicro()
	old.Reward, old.Rewards, old.ShapedRewards, old.GroupID, old.Advantage, old.Advantages, old.Losses = nil, nil, nil, "", nil, nil, nil
	fit(&old)
	old.SetPayloadDigest()
	return old, true
}
