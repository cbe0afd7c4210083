package curate

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

const (
	stage   = "curate"
	version = 1 // raise it when the same inputs and options give other rows
)

// Run decides about the groups of o.In, writes one shard of the dataset o.Out,
// and seals it when it is the last. A dataset without rows is a result like
// any other. When a gate refuses the sealed dataset, the report is whole and
// the error is a *dataset.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	if len(o.Rules) == 0 {
		return stages.Report{}, stages.Errorf(stages.KindFailed, "", "curate: it was given no rules")
	}
	in, err := openInput(ctx, &o)
	if err != nil {
		return stages.Report{}, err
	}
	of := o.Out.Shard.Of()
	shard, err := dataset.Begin(ctx, o.Out.URI, in.spec(&o), dataset.Options{Shard: of.Index, Of: of.Count, Overwrite: o.Out.Overwrite})
	if err != nil {
		return stages.Report{}, err
	}
	var outcome dataset.Outcome
	if !shard.UpToDate() {
		if outcome, err = decide(ctx, &o, in, shard); err != nil {
			return stages.Report{}, errors.Join(err, shard.Discard())
		}
	}
	seconds := o.Clock().Sub(started).Seconds()
	outcome.Timings = map[string]float64{"curate_seconds": seconds}
	result, err := shard.Commit(ctx, outcome)
	return report(result, outcome, seconds), err
}

// decide plans the whole epoch and writes a shard's slice of it.
func decide(ctx context.Context, o *Options, in *input, shard *dataset.Shard) (dataset.Outcome, error) {
	p, err := newPlan(o, in)
	if err != nil {
		return dataset.Outcome{}, err
	}
	of := o.Out.Shard.Of()
	slice, err := in.base.Slice(ctx, of.Index, of.Count)
	if err != nil {
		return dataset.Outcome{}, err
	}
	members, err := dataset.NewReader[formats.Member](ctx, in.members, "", slice)
	if err != nil {
		return dataset.Outcome{}, err
	}
	defer members.Close()
	step, err := in.step(ctx)
	if err != nil {
		return dataset.Outcome{}, err
	}
	w := &writer{
		in: in, step: step, plan: p, members: members, source: &source{ctx: ctx, base: in.base, end: slice.First + slice.Rows},
		rows:      dataset.NewTable[formats.Trajectory](shard, "", -1),
		decisions: dataset.NewTable[formats.Decision](shard, formats.TableDecisions, -1),
		meter:     o.Meter(stage, "trajectories", slice.Rows),
	}
	defer w.source.close()
	defer w.meter.Done()
	if err := w.run(ctx, slice); err != nil {
		return dataset.Outcome{}, err
	}
	if err := w.tally.check(slice.Rows); err != nil {
		return dataset.Outcome{}, err
	}
	outcome := w.tally.outcome()
	outcome.State, err = json.Marshal(p.state)
	return outcome, err
}
