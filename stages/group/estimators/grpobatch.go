package estimators

import (
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// GRPOBatch is GRPO with the standard deviation of the whole batch: a
// reward's distance from its group's mean, divided by the deviation of all the
// batch's rewards. Curate does the division, because the whole batch is only
// known there; until then advantages are distances, and the manifest's state
// describes the step.
//
//	none  (r - group's mean) / (the batch's population std + 1e-6); a singleton has none
//	trl   (r - group's mean) / (the batch's sample std + 1e-4); a singleton has 0 (scale_rewards batch)
var GRPOBatch = group.EstimatorKind{
	Kind:    kind("grpo-batch", "distance from the group's mean in standard deviations of the batch", grpoBatch),
	ZeroSum: true,
}

func grpoBatch(s group.Setup) (group.Estimator, error) {
	if s.NoScale {
		return group.Estimator{}, group.RefuseNoScale("grpo-batch")
	}
	switch s.Compat {
	case group.CompatNone:
		return group.Estimator{Advantages: group.SingletonNone.Centred, Batch: &training.BatchStep{Of: training.BatchRewards, Epsilon: 1e-6}}, nil
	case group.CompatTRL:
		return group.Estimator{Advantages: group.SingletonZero.Centred,
			Batch: &training.BatchStep{Of: training.BatchRewards, Sample: true, Epsilon: 1e-4}}, nil
	}
	return group.Estimator{}, group.Refuse("grpo-batch", s, group.CompatNone, group.CompatTRL)
}
