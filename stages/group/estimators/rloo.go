package estimators

import "github.com/rollmill/rollmill/stages/group"

// RLOO is REINFORCE with a leave-one-out baseline: a reward minus the
// mean of the others, which is n/(n-1) times its distance from the mean.
//
//	none      a singleton has no advantage
//	trl       a singleton has 0 (normalize_advantages false, its default)
//	openrlhf  a singleton would be 0/0 there, and has none
//	verl      a singleton has its reward
//	nemo-rl   a singleton has 0 (grpo, normalize_rewards false)
var RLOO = group.EstimatorKind{
	Kind:    kind("rloo", "distance from the mean of the other members", rloo),
	ZeroSum: true,
}

type rlooEstimator struct{ singleton group.Singleton }

func rloo(s group.Setup) (group.Estimator, error) {
	if s.NoScale {
		return group.Estimator{}, group.RefuseNoScale("rloo")
	}
	switch s.Compat {
	case group.CompatNone, group.CompatOpenRLHF:
		return group.Estimator{Advantages: rlooEstimator{}.advantages}, nil
	case group.CompatTRL, group.CompatNemoRL:
		return group.Estimator{Advantages: rlooEstimator{group.SingletonZero}.advantages}, nil
	case group.CompatVerl:
		return group.Estimator{Advantages: rlooEstimator{group.SingletonRaw}.advantages}, nil
	}
	return group.Estimator{}, group.Refuse("rloo", s, group.CompatNone, group.CompatTRL, group.CompatVerl, group.CompatOpenRLHF,
		group.CompatNemoRL)
}

func (e rlooEstimator) advantages(v *group.Valid, out []float64) bool {
	n := float64(len(out))
	if n == 1 {
		return e.singleton.Advantage(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = group.Finite(v.Centred(r) * (n / (n - 1)))
	}
	return true
}
