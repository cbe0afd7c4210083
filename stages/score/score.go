package score

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
)

// Run scores one shard of a dataset and seals the dataset if the shard is the last. When a gate
// refuses the sealed dataset, the report is complete and the error is a *manifest.GateError.
func Run(ctx context.Context, o Options) (stages.Report, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return stages.Report{}, err
	}
	o = o.defaults()
	in, err := openInput(ctx, o.In)
	if err != nil {
		return stages.Report{}, err
	}
	if len(o.Only) > 0 {
		if err := in.openCopies(ctx, o); err != nil {
			return stages.Report{}, err
		}
		o.Rewards = append(o.Rewards, in.copiedSpecs...)
	}
	o.taskEnv, o.base = verifier.ReadVariables(ctx, o.TaskEnv, os.LookupEnv), in.base
	rewards, err := in.makeRewards(ctx, o)
	if err != nil {
		return stages.Report{}, err
	}
	result, outcome, err := runShard(ctx, o, in, rewards)
	err = errors.Join(err, rewards.close())
	r := report(result, outcome)
	r.Seconds = o.Clock().Sub(started).Seconds()
	return r, err
}

func (src *input) makeRewards(ctx context.Context, o Options) (rewardSet, error) {
	carried := src.carriedExcept(o.Rewards)
	if !slices.ContainsFunc(append(carried, o.Rewards...), func(s Spec) bool { return s.Weight != 0 }) {
		return nil, usage("the total is the weighted sum: give one reward a weight", "every reward has weight 0")
	}
	rewards, err := makeRewards(o, namesOf(given(carried...)), false)
	if err == nil {
		err = rewards.checkSteps(src.scores != nil)
	}
	if err != nil || src.copies == nil {
		return rewards, err
	}
	return rewards, src.copies.compare(ctx, o, rewards, namesOf(append(carried, o.Rewards...)))
}

func runShard(ctx context.Context, o Options, in *input, rewards rewardSet) (shards.Result, shards.Outcome, error) {
	spec, err := in.spec(ctx, o, rewards)
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	of := o.Out.Shard.Of()
	shard, err := shards.Begin(ctx, o.Out.URI, spec,
		shards.Options{Shard: of.Index, Of: of.Count, Overwrite: o.Out.Overwrite})
	if err != nil {
		return shards.Result{}, shards.Outcome{}, err
	}
	var outcome shards.Outcome
	if !shard.UpToDate() {
		if outcome, err = writeShard(ctx, o, in, rewards, shard); err != nil {
			return shards.Result{}, outcome, errors.Join(err, shard.Discard())
		}
	}
	result, err := shard.Commit(ctx, outcome)
	return result, outcome, err
}

func writeShard(ctx context.Context, o Options, in *input, rewards rewardSet, shard *shards.Shard) (shards.Outcome, error) {
	started, spent := o.Clock(), o.Judging.Ledger.Spent()
	of := o.Out.Shard.Of()
	slice, err := in.base.Slice(ctx, of.Index, of.Count)
	if err != nil {
		return shards.Outcome{}, err
	}
	p := &pipeline{
		failures: shard.Failures(),
		in:       in, slice: slice, carried: given(in.carriedExcept(o.Rewards)...), stepped: in.stepped(o.Rewards), rewards: rewards,
		shown: rewards.shown(), workers: o.Concurrency, batch: o.BatchRows,
		meter: o.Meter(stage, "trajectories", slice.Rows), log: o.Logger(), tally: newTally(),
		keepBroken: o.KeepBroken, out: shards.NewTable[formats.Score](shard, "", slice.First),
	}
	p.each = len(p.carried) + len(given(rewards.specs()...))
	defer p.meter.Done()
	in.base.KeepFooters(0)
	p.copied = shards.NewColumnSource(ctx, in.base, carriedColumns...)
	defer p.copied.Close()
	p.meter.Spending(func() stages.Spend { return o.Judging.Ledger.Spent().since(spent).Spend })
	if err := p.run(ctx); err != nil {
		return shards.Outcome{}, err
	}
	if of.Count <= 1 {
		if err := p.tally.check(o, rewards); err != nil {
			return shards.Outcome{}, err
		}
	}
	outcome := p.tally.outcome()
	maps.Copy(outcome.Facts, o.Judging.Ledger.facts(spent))
	outcome.Timings = map[string]float64{"score_seconds": o.Clock().Sub(started).Seconds()}
	outcome.State, err = json.Marshal(state{append(in.carriedExcept(o.Rewards), rewards.specs()...)})
	return outcome, err
}

func (p *pipeline) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	read, work, workers := p.readBatches, p.work, p.workers
	if p.rewards.immediate() {
		read, work, workers = p.spans, p.workSpans, p.readers()
	}
	todo := make(chan *job)
	p.spare = make(chan *buffer, 2*workers)
	ordered := make(chan *job, 2*workers) // bounds what is in memory: writing may fall behind for a while
	g.Go(func() error {
		defer close(todo)
		defer close(ordered)
		return read(ctx, func(j *job) error {
			j.done, j.facts = make(chan struct{}), map[string]int{}
			for _, next := range []chan<- *job{ordered, todo} {
				select {
				case next <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		g.Go(func() error { return work(ctx, todo) })
	}
	g.Go(func() error { return p.write(ctx, ordered) })
	return g.Wait()
}

// readBatches reads batches of whole groups, each of which is one call of every reward.
func (p *pipeline) readBatches(ctx context.Context, next func(*job) error) error {
	source, err := openSource(ctx, p.in, p.slice, p.rewards)
	if err != nil {
		return err
	}
	defer source.close()
	try := programCheck{pipeline: p}
	for {
		first := source.first - int64(len(source.pending))
		rows, err := source.batch(p.batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := try.batch(ctx, rows); err != nil {
			return err
		}
		if err := next(&job{rows: rows, span: dataset.Range{First: first, Rows: int64(len(rows))}}); err != nil {
			return err
		}
	}
}

func (p *pipeline) work(ctx context.Context, todo <-chan *job) error {
	for j := range todo {
		j.buffer = p.buffer(len(j.rows))
		j.alive = nil // rewards may keep it
		if err := p.score(ctx, j, j.rows); err != nil {
			return err
		}
		close(j.done)
	}
	return ctx.Err()
}
