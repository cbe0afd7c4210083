package group

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group/pairs"
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

type job struct {
	o     *Options
	in    *input
	shard *shards.Shard
	slice dataset.Range // of the base: the rows that the shard writes
	tally *tally
	meter *stages.Meter

	estimator Estimator
}

func (j *job) begin(ctx context.Context) (err error) {
	of := j.o.Out.Shard.Of()
	j.shard, err = shards.Begin(ctx, j.o.Out.URI, j.in.spec(j.o),
		shards.Options{Shard: of.Index, Of: of.Count, Overwrite: j.o.Out.Overwrite})
	return err
}

func (j *job) grouper() Grouper {
	return Grouper{Estimator: j.estimator, Setup: j.o.setup()}
}

// pairer returns what makes pairs and labels, whose facts are the tally's.
func (j *job) pairer() *pairs.Writer {
	p := pairs.New(j.shard, j.o.Pairs, j.o.Labels, j.o.solved(), j.o.tolerance())
	j.tally.pairs = p.Facts
	return p
}

func (j *job) members() *shards.TableWriter[formats.Member] {
	return shards.NewTable[formats.Member](j.shard, "", j.slice.First)
}

func (j *job) groups() *shards.TableWriter[formats.GroupStats] {
	return shards.NewTable[formats.GroupStats](j.shard, schema.TableGroups, -1)
}

// holds reports whether the shard writes a row of the base.
func (j *job) holds(at int64) bool { return at >= j.slice.First && at < j.slice.First+j.slice.Rows }
