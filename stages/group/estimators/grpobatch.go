package estimators

import (
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// GRPOBatch is GRPO with the standard deviation of the whole batch: a reward's distance from its
// group's mean, divided by the deviation of all the batch's rewards. Curate does the division,
// because the whole batch is only known there; until then advantages are distances, and the
// manifest's state describes the step.
//
//	none  (r - group's mean) / (the batch's population std + 1e-6); a singleton has none
//	trl   (r - group's mean) / (the batch's sample std + 1e-4); a singleton has 0 (scale_rewards batch)
var GRPOBatch = group.EstimatorKind{
	Kind: kind("grpo-batch", "distance from the group's mean in standard deviations of the batch",
		func(s group.Setup) group.Estimator {
			step := &training.BatchStep{Of: training.BatchRewards, Epsilon: 1e-6}
			if s.Compat == group.CompatTRL {
				step.Sample, step.Epsilon = true, 1e-4
			}
			return group.Estimator{Advantages: singletonOf(s.Compat).Centred, Batch: step}
		}),
	Compats: []group.Compat{group.CompatNone, group.CompatTRL},
	ZeroSum: true,
}
