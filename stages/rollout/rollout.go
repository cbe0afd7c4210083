package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/lease"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder/completion"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
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
	r := &runner{opts: o, journal: journal, shard: turn.shard, failures: turn.shard.Failures(), lease: turn.lease, spending: watch.Spending{Budget: o.Budget}}
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

type runner struct {
	opts     Options
	journal  *journals.Journal[formats.Trajectory]
	shard    *shards.Shard
	failures *dataset.Failures
	lease    *lease.Lease
	recorder *recorder.Recorder
	keeper   *keeper[formats.Trajectory]
	calls    *calls
	origins  *origins
	stop     context.CancelCauseFunc // ends the run with an error
	guard    watch.Guard
	kept     atomic.Int64 // trajectories that this process finished
	warnings watch.Warnings
	meter    *stages.Meter
	spending watch.Spending
	skip     bool // a budget was spent, and the rest is to be skipped
}

func (r *runner) run(ctx context.Context, done *done) error {
	o := r.opts
	total, left := done.tasks.Attempts(), o.left(done)
	r.meter = o.Meter(stage, "trajectories", total)
	defer r.meter.Done()
	r.meter.Skip(total - left)
	r.meter.Spending(r.spending.Spent)
	if left == 0 {
		return nil
	}
	if err := o.checkFiles(left); err != nil {
		return err
	}
	r.guard = watch.Guard{Initial: o.MaxInitialFailures, Engine: o.MaxEngineFailures, Clock: o.Clock, Lost: o.lost, OthersWork: r.othersWork,
		Passed: !o.pays() || done.n > int64(len(done.failed))} // stored failures do not end the run, nor do any if an earlier process had one that did not fail
	if o.asksEngine() {
		logprobs, err := o.reach(ctx)
		if err != nil {
			return err
		}
		options := o.recorderOptions()
		options.Ended, options.Logprobs = r.spending.Call, logprobs
		options.Called = func(model, api string, began time.Time, f *completion.Failure) {
			r.guard.Called(ctx, model, api, began, f)
		}
		if r.recorder, err = recorder.New(options); err != nil {
			return fmt.Errorf("rollout: %w", err)
		}
		defer r.recorder.Close()
	}
	if !o.KeepAgent {
		defer o.CloseAgent()
	}
	defer os.Remove(o.workFolder()) // if nothing is left in it
	o.announce(done, left)
	if err := r.attempts(ctx, done); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return interrupted{err}
	}
	return nil
}

// interrupted means that the context ended; it wraps the context's cause.
type interrupted struct{ error }

func (interrupted) Error() string {
	return "rollout: interrupted; finished trajectories are kept, and the same command continues"
}

func (i interrupted) Unwrap() error { return i.error }

// attempts makes the missing attempts in order, a bounded number at once, and
// returns when every finished trajectory is durable.
func (r *runner) attempts(ctx context.Context, done *done) error {
	limited, cancel := r.spending.Limit(ctx)
	defer cancel()
	limited, unbind := r.lease.Bind(limited)
	defer unbind()
	work, stop := context.WithCancelCause(limited)
	defer stop(nil)
	r.stop = stop
	defer r.warnings.End(r.opts.Logger())
	var made atomic.Int64
	r.keeper = newKeeper(ctx, r.journal, r.opts.JournalEvery, Weight, func(err error) { stop(err) })
	if r.calls.journal != nil {
		r.calls.keeper = newKeeper(ctx, r.calls.journal, r.opts.JournalEvery, (*answeredCall).weight, func(err error) { stop(err) })
	}
	var g errgroup.Group
	g.SetLimit(r.opts.atOnce())
	for j := range r.opts.jobs(done) {
		if work.Err() != nil {
			break
		}
		g.Go(func() error {
			if work.Err() != nil || r.spending.Over() != "" || r.guard.Over() != nil {
				return nil
			}
			if err := r.lease.Check(work); err != nil {
				stop(err) // work ends of itself too, but perhaps only after the last job
				return nil
			}
			ended, err := r.one(work, j)
			if err != nil {
				stop(err)
			}
			if ended {
				made.Add(1)
			}
			return nil
		})
	}
	g.Wait()
	r.guard.Wait()
	r.spending.Left = r.opts.left(done) - made.Load()
	err := context.Cause(work)
	if ctx.Err() != nil || err == watch.ErrTimeSpent {
		err = nil // run or fillShard reports it
	}
	if err == nil && ctx.Err() == nil {
		var rows []formats.Trajectory
		rows, err = r.guard.End(ctx, done.n == 0)
		r.keep(rows)
		if lost := r.guard.Over(); err == nil && lost != nil && r.kept.Load() < r.opts.left(done) {
			err = lost
		}
	}
	err = errors.Join(err, r.keeper.close())
	if r.calls.keeper != nil {
		err = errors.Join(err, r.calls.keeper.close())
	}
	if lost := r.guard.Over(); lost != nil && errors.Is(err, lost) {
		total := done.tasks.Attempts()
		err = r.guard.Stopped(total, total-r.opts.left(done)+r.kept.Load())
	}
	return err
}

func (r *runner) one(ctx context.Context, j job) (ended bool, err error) {
	e, err := r.opts.Examples.At(j.example)
	if err != nil {
		return false, err
	}
	t, trace, ok := r.attempt(ctx, e, j)
	if !ok {
		return false, nil
	}
	redact(ctx, &t)
	if t.Status == outcomes.StatusFailed {
		if trace != "" {
			if err := r.failures.Keep(ctx, t.Error, trace); err != nil {
				return false, fmt.Errorf("rollout: keeping a traceback: %w", err)
			}
		}
		r.warnings.Failed(r.opts.Logger(), &t)
		r.meter.Failed(t.FailureClass)
	}
	r.meter.Add(1)
	rows, err := r.guard.Ended(ctx, t)
	r.keep(rows)
	return true, err
}

func (r *runner) keep(rows []formats.Trajectory) {
	for _, t := range rows {
		r.kept.Add(1)
		if r.opts.Finished != nil {
			r.opts.Finished(t)
		}
		r.keeper.keep(t)
	}
}

// orNone converts an option for the recorder, where 0 is the default and a
// negative number means none.
func orNone[T int | float64](p *T) T {
	switch {
	case p == nil:
		return 0
	case *p == 0:
		return -1
	}
	return *p
}

func (o Options) recorderOptions() recorder.Options {
	rec := recorder.Options{
		Settings: engines.Settings{Endpoints: o.Endpoints, APIKey: o.APIKey, Retries: orNone(o.Retries), Backoff: o.Backoff, CallTimeout: o.CallTimeout,
			Connections: max(64, 4*o.Concurrency), RateLimit: o.RateLimit, Slowdown: orNone(o.Slowdown), Log: o.Logger(), Now: o.Now},
		Defaults: apis.Defaults{Model: o.Model, Sampling: o.Sampling, Extra: o.Extra, NoLogprobs: o.NoLogprobs,
			AcceptNoFinish: outcomes.Finish("", o.AcceptFinish) == outcomes.FinishEnded},
		Target: o.TargetModel, Functions: o.Functions, Accept: o.AcceptModels, Seed: o.SamplingSeed, AllowPaths: o.AllowPaths,
		AcceptLeftStreams: o.AcceptLeftStreams, Listen: o.Listen, Advertise: o.Advertise, MaxCalls: o.MaxCalls, MaxTokens: o.MaxTokens,
	}
	if o.Policy != nil {
		rec.Version = &o.Policy.Version
	}
	return rec
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
