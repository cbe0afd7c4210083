package group

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkScored refuses trajectories that were never scored: some ended well, and none
// has a reward or a component of one. A dataset that score wrote is always
// accepted, even when it could compute no reward.
func (in *input) checkScored(ctx context.Context) error {
	if in.rows.Kind == schema.KindScores {
		return nil
	}
	type columns struct {
		Status  string                `parquet:"status,dict"`
		Reward  *float64              `parquet:"reward,optional"`
		Rewards []formats.NamedReward `parquet:"rewards,list"`
	}
	wait := int64(0)
	for c, err := range dataset.Each[columns](ctx, in.rows, "", in.rows.All()) {
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
	return fault.Invalid(in.rows.URI(), "score them first (rollmill score), or group them with --allow-unscored", nil,
		"none of its trajectories was ever scored; %d wait for a reward", wait)
}
