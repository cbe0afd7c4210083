package group

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkScored refuses trajectories that were never scored: some ended well, and none
// has a reward or a component of one. A dataset that score wrote is always
// accepted, even when it could compute no reward.
func (src *input) checkScored(ctx context.Context) error {
	if src.rows.Kind == schema.KindScores {
		return nil
	}
	type columns struct {
		Status  string                `parquet:"status,dict"`
		Reward  *float64              `parquet:"reward,optional"`
		Rewards []formats.NamedReward `parquet:"rewards,list"`
	}
	wait := int64(0)
	for c, err := range dataset.Each[columns](ctx, src.rows, "", src.rows.All()) {
		if err != nil || c.Reward != nil || len(c.Rewards) > 0 {
			return err
		}
		if c.Status != outcomes.StatusFailed && c.Status != outcomes.StatusSkipped {
			wait++
		}
	}
	if wait == 0 {
		return nil
	}
	return fault.Invalid(src.rows.URI(), "score them first (rollmill score), or group them with --allow-unscored", nil,
		"none of its trajectories was ever scored; %d wait for a reward", wait)
}

// checkCalls refuses imported rows that are calls of attempts, each with the whole
// history: they would be compared as attempts. Rows are read to name them, or if the
// import did not count them; then every shard looks at all of them.
func (src *input) checkCalls(ctx context.Context, o *Options) error {
	accepted, err := validate.Accept(o.Accept)
	if err != nil {
		return err
	}
	counted, known := src.base.Facts[formats.FactPrefixRows]
	if src.base.Stage != "import" || accepted["prefix_rows"] || known && counted == 0 {
		return nil
	}
	checks := validate.In(validate.Import)
	for i := range checks {
		if checks[i].Name == "prefix_rows" {
			checks = checks[i : i+1]
			break
		}
	}
	doctor, at := validate.NewDoctor(checks), int64(0)
	for t, err := range dataset.Each[formats.Trajectory](ctx, src.base, "", src.base.All()) {
		if err != nil {
			return err
		}
		r := validate.WideRow(at, t)
		doctor.Row(&r)
		at++
	}
	for _, f := range doctor.Found(src.base.URI()) {
		return fault.Invalid(src.base.URI(), checks[0].Hint+"; --accept-finding prefix_rows groups them all the same", nil,
			"%d of %d %s (prefix_rows); the first: %s", f.Count, f.Of, f.What, f.First[0])
	}
	return nil
}
