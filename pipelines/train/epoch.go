package train

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/planning"
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
