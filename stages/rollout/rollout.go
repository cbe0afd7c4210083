package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/watch"
)

// Run runs this shard's examples and writes its part of the dataset. When ctx
// ends, finished trajectories are journalled and the error wraps ctx's; the
// same command resumes there. When the gate refuses the sealed dataset, the
// report is complete and the error is a *manifest.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	o = o.defaults()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	if o.Examples.Len() == 0 {
		return stages.Report{}, o.noExamples()
	}
	if err := o.checkHide(); err != nil {
		return stages.Report{}, err
	}
	result, outcome, err := runShard(ctx, o)
	report := report(result, outcome)
	report.Seconds = o.Clock().Sub(started).Seconds()
	return report, err
}

func runShard(ctx context.Context, o Options) (shards.Result, shards.Outcome, error) {
	all, extended, err := o.openPlanned(ctx)
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	spec, err := o.spec(ctx, all, extended)
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	if spec.Run, err = o.run(ctx, extended); err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	o.otherwise(ctx, spec, extended)
	before, err := o.before(ctx, &spec)
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	of := o.Out.Shard.Of()
	begin := shards.Options{Shard: of.Index, Of: of.Count, Overwrite: o.Out.Overwrite || before != nil}
	shard, err := shards.Begin(ctx, o.Out.URI, spec, begin)
	if exists := (*manifest.ExistsError)(nil); errors.As(err, &exists) && o.worthless(ctx, exists) {
		begin.Overwrite = true
		shard, err = shards.Begin(ctx, o.Out.URI, spec, begin)
	}
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	var outcome shards.Outcome
	if !shard.UpToDate() {
		turn := &turn{shard: shard}
		if err := turn.take(ctx, o); err != nil {
			return shards.Result{}, outcome, errors.Join(err, shard.Discard())
		}
		defer func() {
			if err := turn.lease.Release(ctx); err != nil {
				o.Logger().Warn("others will wait until this rollout counts as dead", "error", err)
			}
		}()
		if !shard.UpToDate() {
			outcome, err = fillShard(ctx, o, all, turn, extended, before)
			if err != nil && shard.Overtaken(ctx, err) {
				outcome, err = shards.Outcome{}, nil
			}
			if err != nil {
				return shards.Result{}, outcome, errors.Join(err, shard.Discard())
			}
		}
	}
	result, err := shard.Commit(ctx, outcome)
	return result, outcome, err
}

// run returns the run of the dataset: that of the rollouts which it extends,
// else the one at the root.
func (o Options) run(ctx context.Context, extended *dataset.Dataset) (manifest.Run, error) {
	if r := dataset.RunOf(extended); r.ID != "" {
		return r, nil
	}
	r, err := runroot.Open(ctx, cmp.Or(o.Root, runroot.Of(o.Out.URI)))
	if err != nil {
		return r, fmt.Errorf("rollout: giving the run its id: %w", err)
	}
	return r, nil
}

// fillShard makes the attempts that neither the journal nor the dataset before
// has, and writes the rows, with those of the dataset that is extended. When
// another process takes the shard over, fillShard waits for it and continues
// with the remaining attempts.
func fillShard(ctx context.Context, o Options, all planning.Tasks, turn *turn,
	extended, before *dataset.Dataset) (outcome shards.Outcome, err error) {
	started, shard := o.Clock(), turn.shard
	w := &writer{o: o, table: shards.NewTable[formats.Trajectory](shard, "", -1)}
	if of := o.Out.Shard.Of(); extended == nil {
		w.tasks = all.Slice(of.Index, of.Count)
	} else {
		if w.base, err = o.newBase(ctx, extended, all); err != nil {
			return outcome, err
		}
		defer w.base.close()
		w.tasks = w.base.tasks
	}
	r, err := o.attempted(ctx, w.tasks, turn, before)
	for errors.Is(err, lease.ErrTaken) {
		if err = turn.again(ctx, o); err != nil || shard.UpToDate() {
			return outcome, err
		}
		r, err = o.attempted(ctx, w.tasks, turn, before)
	}
	if err != nil {
		return outcome, err
	}
	w.skip = r.skip
	if w.kept, err = o.newKept(ctx, shard, extended, before); err != nil {
		return outcome, err
	}
	if outcome, err = w.write(ctx, r.journal); err != nil {
		return outcome, err
	}
	outcome.Timings = map[string]float64{"rollout_seconds": o.Clock().Sub(started).Seconds()}
	return outcome, err
}

// attempted makes the missing attempts, and returns their runner with the journal of all.
func (o Options) attempted(ctx context.Context, t planning.Tasks, turn *turn, before *dataset.Dataset) (*runner, error) {
	journal, err := journals.Open[formats.Trajectory](ctx, turn.shard.Journal())
	if err != nil {
		return nil, err
	}
	journal.Expected = t.Attempts()
	r := &runner{opts: o, journal: journal, shard: turn.shard, failures: turn.shard.Failures(),
		lease: turn.lease, spending: watch.Spending{Budget: o.Budget}}
	if r.origins, err = o.openOrigins(ctx, t); err != nil {
		return nil, err
	}
	done, err := o.readDone(ctx, t, turn.shard, &r.spending)
	if err != nil {
		return nil, err
	}
	if before != nil {
		if err := o.carry(ctx, before, journal, done, &r.spending); err != nil {
			return nil, err
		}
	}
	if err := r.readCalls(ctx, turn.shard, before, done); err != nil {
		return nil, err
	}
	if err := r.run(ctx, done); err != nil {
		return nil, err
	}
	r.skip, err = r.spending.Stopped(t.Attempts(), o.Logger())
	return r, err
}

// worthless reports whether the dataset in the way is a finished rollout of which no attempt
// is ok, so that the folder is free after the agent was mended.
func (o Options) worthless(ctx context.Context, exists *manifest.ExistsError) bool {
	if !exists.Sealed || exists.Late {
		return false
	}
	d, err := dataset.Open(ctx, o.Out.URI, dataset.OpenOptions{IgnoreGates: true})
	if err != nil || d.Stage != stage || d.Rows == 0 || d.Counts[outcomes.StatusOK] > 0 {
		return false
	}
	o.Logger().Warn("no attempt of the rollout before is ok: it is replaced", "uri", o.Out.URI, "rows", d.Rows)
	return true
}
