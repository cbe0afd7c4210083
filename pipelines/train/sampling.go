package train

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
)

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

// env returns what the process gives a stage of an epoch.
func (o Options) env(e int, validation bool) stages.Env {
	env := o.Env
	env.Place.Epoch, env.Place.Validation = &e, validation
	return env
}
