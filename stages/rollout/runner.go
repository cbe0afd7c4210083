package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/watch"
)

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
	var all sync.WaitGroup
	places := make(chan struct{}, r.opts.atOnce())
	for j := range r.opts.jobs(done) {
		places <- struct{}{}
		if work.Err() != nil {
			break
		}
		all.Add(1)
		go r.one(work, j, func(ended bool, err error) {
			if err != nil {
				stop(err) // work ends of itself too if the lease is lost, but perhaps only after the last job
			}
			if ended {
				made.Add(1)
			}
			<-places
			all.Done()
		})
	}
	all.Wait()
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
	err = joined(err, r.keeper.close())
	if r.calls.keeper != nil {
		err = joined(err, r.calls.keeper.close())
	}
	if lost := r.guard.Over(); lost != nil && errors.Is(err, lost) {
		total := done.tasks.Attempts()
		err = r.guard.Stopped(total, total-r.opts.left(done)+r.kept.Load())
	}
	return err
}

// joined is errors.Join, which would say twice what a keeper has already stopped the run for.
func joined(err, more error) error {
	if more != nil && errors.Is(err, more) {
		return err
	}
	return errors.Join(err, more)
}

// one makes an attempt on this goroutine, unless the run is over, and calls done once: when the agent has returned, or
// was abandoned.
func (r *runner) one(ctx context.Context, j job, done func(ended bool, err error)) {
	if ctx.Err() != nil || r.spending.Over() != "" || r.guard.Over() != nil {
		done(false, nil)
		return
	}
	if err := r.lease.Check(ctx); err != nil {
		done(false, err)
		return
	}
	b, t, ok, err := r.begin(ctx, j)
	switch {
	case b != nil:
		r.ask(b.session.Context(), &b.input, func(end *returned) {
			if trace, ok := r.finish(ctx, b, end); ok {
				done(r.ended(ctx, b.row, trace))
			} else {
				done(false, nil)
			}
		})
	case ok:
		done(r.ended(ctx, t, ""))
	default:
		done(false, err)
	}
}

// ended keeps a finished trajectory, if it may be kept already.
func (r *runner) ended(ctx context.Context, t *formats.Trajectory, trace string) (bool, error) {
	redact(ctx, t)
	if t.Status == outcomes.StatusFailed {
		if trace != "" {
			if err := r.failures.Keep(ctx, t.Error, trace); err != nil {
				return false, fmt.Errorf("rollout: keeping a traceback: %w", err)
			}
		}
		r.warnings.Failed(r.opts.Logger(), t)
		r.meter.Failed(t.FailureClass)
	}
	r.meter.Add(1)
	rows, err := r.guard.Ended(ctx, *t)
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
		AcceptLeftStreams: o.AcceptLeftStreams, TrainAuxiliary: o.Auxiliary == tree.AuxiliaryTrain,
		Listen: o.Listen, Advertise: o.Advertise, MaxCalls: o.MaxCalls, MaxTokens: o.MaxTokens,
	}
	if o.Policy != nil {
		rec.Version = &o.Policy.Version
	}
	return rec
}
