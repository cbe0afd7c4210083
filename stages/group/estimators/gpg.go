package estimators

import (
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// GPG is group policy gradient (arXiv 2504.02546): a reward's distance from its
// group's mean, times alpha, the members of the batch for each one whose reward is
// not 0. Curate multiplies, because the whole batch is only known there.
//
//	none  a singleton has no advantage, and does not count
//	verl  a singleton has its reward (gpg, f_norm 1)
//
// The other half of GPG, a loss without clipping and KL penalty, is the trainer's.
var GPG = group.EstimatorKind{
	Kind: kind("gpg", "distance from the group's mean, divided by the batch's share of rewards that are not 0",
		func(s group.Setup) group.Estimator {
			return group.Estimator{Advantages: singletonOf(s.Compat).Centred, Batch: &training.BatchStep{Of: training.BatchNonZero}}
		}),
	Compats: []group.Compat{group.CompatNone, group.CompatVerl},
	ZeroSum: true,
}
