package group

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/stages"
)

// Run groups the trajectories of one shard of o.In, and seals the dataset o.Out
// when the shard is the last. When a gate refuses the sealed dataset, the
// report is complete and the error is a *manifest.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	in, err := openInput(ctx, &o)
	if err != nil {
		return stages.Report{}, err
	}
	e, err := o.estimator()
	if err == nil {
		err = in.continues(ctx, &o, e.Baselines)
	}
	if err != nil {
		return stages.Report{}, err
	}
	j := &job{o: &o, in: in, tally: newTally(o.preferences(), e.Batch), estimator: e}
	if err := j.begin(ctx); err != nil {
		return stages.Report{}, err
	}
	if !j.shard.UpToDate() {
		if err := j.run(ctx); err != nil {
			return stages.Report{}, errors.Join(err, j.shard.Discard())
		}
	}
	seconds := o.Clock().Sub(started).Seconds()
	outcome := j.tally.outcome(seconds)
	if outcome.State, err = o.state(e); err != nil {
		return stages.Report{}, errors.Join(err, j.shard.Discard())
	}
	result, err := j.shard.Commit(ctx, outcome)
	return report(result, outcome, seconds), err
}

// run writes the shard's rows. If the rows of groups are adjacent, one pass does it. If a pass
// finds that they are not, the written rows are discarded and the groups are gathered first.
func (j *job) run(ctx context.Context) (err error) {
	if !j.o.AllowUnscored {
		if err := j.in.checkScored(ctx); err != nil {
			return err
		}
	}
	if err := j.in.checkCalls(ctx, j.o); err != nil {
		return err
	}
	of := j.o.Out.Shard.Of()
	if j.slice, err = j.in.base.Slice(ctx, of.Index, of.Count); err != nil {
		return err
	}
	j.meter = j.o.Meter(stage, "trajectories", j.slice.Rows)
	defer func() { j.meter.Done() }()
	scattered, err := j.in.scattered(ctx, j.o, j.slice)
	if err != nil {
		return err
	}
	if !scattered {
		if err := j.groupAdjacent(ctx); !errors.Is(err, errScattered) {
			return err
		}
		if err := j.shard.Discard(); err != nil {
			return err
		}
		if err := j.begin(ctx); err != nil || j.shard.UpToDate() {
			return err
		}
		j.tally = newTally(j.o.preferences(), j.estimator.Batch)
		j.meter.Done()
		j.meter = j.o.Meter(stage, "trajectories", j.slice.Rows)
	}
	return j.groupScattered(ctx)
}
