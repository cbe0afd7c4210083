package estimators

import (
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// GRPO is group-relative policy optimisation: a reward's distance
// from its group's mean, in standard deviations.
//
//	none  (r - mean) / (population std + 1e-6); a singleton has no advantage
//	art   the same; ART drops a singleton, whose advantage would be 0
//	nat   as art, which it hands its groups to
//	trl   (r - mean) / (sample std + 1e-4); a singleton has 0
//	verl  (r - mean) / (sample std + 1e-6); a singleton has r / (1 + 1e-6),
//	      its own reward, since verl takes its mean for 0 and its std for 1
//	openrlhf  (r - mean) / (sample std + 1e-9), its group_norm; a singleton
//	      would be NaN there, and has none
//	slime (r - mean) / (sample std + 1e-6); a singleton would be NaN there,
//	      and has none
//	nemo-rl  both of the other members: (r - their mean) / (their sample std
//	      + 1e-6), not divided when their std is 0, so never in a pair and not
//	      for the one odd reward; a singleton has 0
//	prime-rl  r - mean, never divided; a singleton has 0
//
// With NoScale nothing is divided (ART and TRL: scale_rewards false or "none"; verl:
// norm_adv_by_std_in_grpo false, also known as Dr.GRPO; slime: grpo_std_normalization false;
// NeMo-RL: normalize_rewards false), and what is NaN by the division is 0 (OpenRLHF's dr_grpo).
// slime normalises over the whole batch when its groups are of different sizes, which is no
// group advantage; here it is always the group.
//
// With --length-penalty, which none and prime-rl have, rewards are shaped first: lengthPenalty.
//
// It differs from the trainers in one point: they compute the noise of rounding in a flat group
// (three times 0.1 has the mean 0.10000000000000002) and divide by it, which for large rewards
// gives advantages near 1 out of nothing. Flat groups do not come here; they have advantages of
// exactly 0. NeMo-RL's variance is a difference of squares, whose noise makes advantages of 1e6
// when all but one reward are 0.1; what is flat but for rounding has std 0 here.
var GRPO = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "grpo", Help: "distance from the group's mean in standard deviations",
		New: func() group.EstimatorSettings { return &GRPOSettings{} }},
	Compats: group.Compats,
	Scaled:  true,
	ZeroSum: true,
}

type grpoEstimator struct {
	sample    bool // divisor n-1
	epsilon   float64
	singleton group.Singleton
	noScale   bool
}

func grpo(s group.Setup) group.Estimator {
	e := grpoEstimator{sample: true, noScale: s.NoScale}
	switch s.Compat {
	case group.CompatNone, group.CompatART, group.CompatNAT:
		e.sample, e.epsilon = false, 1e-6
	case group.CompatTRL:
		e.epsilon, e.singleton = 1e-4, group.SingletonZero
	case group.CompatVerl:
		e.epsilon, e.singleton = 1e-6, group.SingletonRaw
	case group.CompatOpenRLHF:
		e.epsilon, e.singleton = 1e-9, undivided(s)
	case group.CompatSlime:
		e.epsilon, e.singleton = 1e-6, undivided(s)
	case group.CompatPrimeRL:
		e.noScale, e.singleton = true, group.SingletonZero
	case group.CompatNemoRL:
		return leaveOneOut(s.NoScale)
	}
	return group.Estimator{Advantages: e.advantages}
}

// undivided is the singleton rule of trainers that get NaN from the division.
func undivided(s group.Setup) group.Singleton {
	if s.NoScale {
		return group.SingletonZero
	}
	return group.SingletonNone
}

func (e grpoEstimator) advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		unit := 1 + e.epsilon
		if e.noScale {
			unit = 1
		}
		return e.singleton.Advantage(v.Rewards[0], unit, out)
	}
	std := v.StdPop
	if e.sample {
		std = v.StdSample
	}
	for i, r := range v.Rewards {
		if e.noScale {
			out[i] = v.Centred(r)
		} else {
			out[i] = v.Scaled(r, std, e.epsilon)
		}
	}
	return true
}
