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
	Kind: kind("rloo", "distance from the mean of the other members", func(s group.Setup) group.Estimator {
		singleton := singletonOf(s.Compat)
		if s.Compat == group.CompatOpenRLHF {
			singleton = group.SingletonNone
		}
		return group.Estimator{Advantages: leaveOneOutMean(singleton).advantages}
	}),
	Compats: []group.Compat{group.CompatNone, group.CompatTRL, group.CompatVerl, group.CompatOpenRLHF, group.CompatNemoRL},
	ZeroSum: true,
}

type leaveOneOutMean group.Singleton

func (s leaveOneOutMean) advantages(v *group.Valid, out []float64) bool {
	n := float64(len(out))
	if n == 1 {
		return group.Singleton(s).Advantage(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = group.Finite(v.Centred(r) * (n / (n - 1)))
	}
	return true
}
