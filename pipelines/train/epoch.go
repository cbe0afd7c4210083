package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// prepare asks the trainer for the policy of the first epoch.
func (o Options) prepare(ctx context.Context) (*receipts.Receipt, error) {
	s, err := o.submitTo(ctx, o.layout().Policy())
	if err != nil {
		return nil, err
	}
	result, err := submit.Prepare(ctx, s)
	return result.Receipt, err
}

// env returns what the process gives a stage of an epoch.
func (o Options) env(e int, validation bool) stages.Env {
	env := o.Env
	env.Place.Epoch, env.Place.Validation = &e, validation
	return env
}

// step is a stage of an epoch.
type step struct {
	name string
	run  func() (stages.Report, error)
}

// each runs steps in order; prefix is what their names begin with in messages.
func (o Options) each(ctx context.Context, e int, prefix string, done map[string]stages.Report, steps []step) error {
	for _, s := range steps {
		report, err := s.run()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		done[s.name] = report
		report.Stage = prefix + report.Stage
		o.stageDone(e, report)
	}
	return ctx.Err()
}

// epoch runs the five stages and returns the receipt.
func (o Options) epoch(ctx context.Context, e int, before *receipts.Receipt,
	done map[string]stages.Report) (*receipts.Receipt, error) {
	env, dir := o.env(e, false), o.layout().Epoch(e)
	previous, err := o.previous(ctx, e)
	if err != nil {
		return nil, err
	}
	first := o
	if o.PlanPrevious && e > 0 {
		if first.Rollout.Plan, err = planning.OpenPlan(ctx,
			stages.Input{URI: previous, AcceptGates: o.Curate.In.AcceptGates}); err != nil {
			return nil, err
		}
	}
	at := func(stage string) string { return o.layout().Stage(e, stage) }
	err = o.each(ctx, e, "", done, []step{
		{"rollout", func() (stages.Report, error) { return o.rollout(ctx, first.Rollout, env, e, before, at("rollout")) }},
		{"score", func() (stages.Report, error) { return o.score(ctx, o.Score, env, at("rollout"), at("score")) }},
		{"group", func() (stages.Report, error) { return o.group(ctx, env, dir) }},
		{"curate", func() (stages.Report, error) { return o.curate(ctx, env, e, previous, dir) }},
	})
	curated := at("curate")
	if err == nil {
		curated, err = o.Again(ctx, e, before.Policy, done)
	}
	if manifest.PrunedIn(err) != nil {
		return o.pruned(ctx, e, err)
	}
	if err != nil {
		return nil, err
	}
	return o.submit(ctx, e, curated, before, done)
}

// pruned returns the receipt of an epoch of which prune removed a dataset after it
// was trained. err is the error of the stage that found this.
func (o Options) pruned(ctx context.Context, e int, err error) (*receipts.Receipt, error) {
	bucket, failed := storage.Open(ctx, o.layout().Stage(e, "submit"))
	if failed != nil {
		return nil, failed
	}
	receipt, failed := submit.ReadReceipt(ctx, bucket)
	if failed != nil || receipt.State == receipts.JobPending || receipt.State == receipts.JobRunning {
		return nil, errors.Join(err, failed)
	}
	return receipt, nil
}

func (o Options) validate(ctx context.Context, e int, receipt *receipts.Receipt, done map[string]stages.Report) error {
	env, at := o.env(e, true), func(stage string) string { return o.layout().Validation(e, stage) }
	err := o.each(ctx, e, "validation ", done, []step{
		{"rollout", func() (stages.Report, error) {
			return o.rollout(ctx, o.Validation.Rollout, env, e, receipt, at("rollout"))
		}},
		{"score", func() (stages.Report, error) {
			return o.score(ctx, o.Validation.Score, env, at("rollout"), at("score"))
		}},
	})
	if err == nil || manifest.PrunedIn(err) != nil { // it was complete
		return nil
	}
	return fmt.Errorf("validation: %w", err)
}

func (o Options) rollout(ctx context.Context, r rollout.Options, env stages.Env, e int, receipt *receipts.Receipt,
	out string) (stages.Report, error) {
	r.Env, r.Epoch, r.Out.URI = env, &e, out
	if receipt.Policy != nil {
		r.Policy = receipt.Policy
	}
	return rollout.Run(ctx, r)
}

func (o Options) score(ctx context.Context, s score.Options, env stages.Env, in, out string) (stages.Report, error) {
	s.Env, s.In.URI, s.Out.URI = env, in, out
	return score.Run(ctx, s)
}

func (o Options) submit(ctx context.Context, e int, curated string, before *receipts.Receipt,
	done map[string]stages.Report) (*receipts.Receipt, error) {
	s, err := o.submitTo(ctx, o.layout().Stage(e, "submit"))
	if err != nil {
		return nil, err
	}
	if err := o.findLedger(ctx, curated, &s); err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	s.Env, s.In.URI, s.Epoch, s.Wait, s.Policy = o.env(e, false), curated, e, true, before.Policy
	result, err := submit.Run(ctx, s)
	if err != nil {
		return result.Receipt, fmt.Errorf("submit: %w", err)
	}
	if r := result.Receipt; r.State == receipts.JobCompleted && r.Policy == nil && before.Policy != nil {
		if result.Receipt, err = s.PolicyNow(ctx, *r, *before.Policy); err != nil {
			return r, fmt.Errorf("submit: %w", err)
		}
	}
	done["submit"] = result.Report
	o.stageDone(e, result.Report)
	if o.Submit.Echo && result.Receipt.State == receipts.JobCompleted {
		report, err := o.Echo(ctx, s.Env, s.In, result.Receipt, o.layout().Stage(e, "submit"))
		if err != nil {
			return result.Receipt, fmt.Errorf("echo: %w", err)
		}
		o.stageDone(e, report)
	}
	return result.Receipt, nil
}

// ownRoot returns an error, before any model call, if the root is a copy of another run's root.
func (o Options) ownRoot(ctx context.Context) error {
	run, err := runroot.Open(ctx, o.Root)
	if err != nil || o.FindLedger == nil {
		return err
	}
	s := o.Submit
	return o.FindLedger(ctx, o.layout().Policy(), run, &s)
}

func (o Options) findLedger(ctx context.Context, curated string, s *submit.Options) error {
	if o.FindLedger == nil {
		return nil
	}
	d, err := dataset.Open(ctx, curated, dataset.OpenOptions{AcceptGates: s.In.AcceptGates})
	if err != nil {
		return fmt.Errorf("opening the curated dataset: %w", err)
	}
	return o.FindLedger(ctx, curated, dataset.RunOf(d), s)
}

// submitTo returns the options of submit with the URI of the receipt.
func (o Options) submitTo(ctx context.Context, out string) (submit.Options, error) {
	s := o.Submit
	bucket, err := storage.Open(ctx, out)
	if err != nil {
		return s, err
	}
	s.Env, s.Out, s.Receipt = o.Env, out, bucket
	if at := s.Trainer.Describe().At; at != nil {
		s.Trainer = at(backends.Place{URI: storage.Redact(out), Read: bucket.Read,
			Begin: func(ctx context.Context) (backends.Draft, error) { return bucket.Draft(ctx) }})
	}
	return s, nil
}
