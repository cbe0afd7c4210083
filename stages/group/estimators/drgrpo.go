package estimators

import "github.com/rollmill/rollmill/stages/group"

// DrGRPO is Dr.GRPO: a reward's distance from its group's mean, not
// divided by a standard deviation.
//
//	none      r - mean; a singleton has no advantage
//	trl       a singleton has 0 (scale_rewards none)
//	openrlhf  a singleton has 0 (dr_grpo)
//	slime     a singleton has 0 (grpo, grpo_std_normalization false)
//	nemo-rl   a singleton has 0 (grpo, neither normalised nor leave-one-out)
//	prime-rl  a singleton has 0 (its grpo)
//	verl      a singleton has its reward (grpo, norm_adv_by_std_in_grpo false)
//
// The other half of Dr.GRPO, a loss that is not divided by the length, is the trainer's.
var DrGRPO = group.EstimatorKind{
	Kind: kind("drgrpo", "distance from the group's mean", func(s group.Setup) group.Estimator {
		return group.Estimator{Advantages: singletonOf(s.Compat).Centred}
	}),
	Compats: []group.Compat{group.CompatNone, group.CompatTRL, group.CompatVerl, group.CompatOpenRLHF, group.CompatSlime,
		group.CompatNemoRL, group.CompatPrimeRL},
	Scaled:  true, // it never divides
	ZeroSum: true,
}
