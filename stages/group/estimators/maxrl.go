package estimators

import "github.com/rollmill/rollmill/stages/group"

// MaxRL is maximum-likelihood RL: a reward's distance from its group's mean, in means. Hard
// examples, which are rarely solved, weigh more. It is meant for rewards that are not negative:
// a group whose mean is not above 0 carries no signal, and its advantages are 0.
//
//	none      a singleton has no advantage
//	prime-rl  a singleton has 0
var MaxRL = group.EstimatorKind{
	Kind: kind("maxrl", "distance from the group's mean in means", func(s group.Setup) group.Estimator {
		return group.Estimator{Advantages: inMeans(singletonOf(s.Compat)).advantages}
	}),
	Compats: []group.Compat{group.CompatNone, group.CompatPrimeRL},
	ZeroSum: true,
}

type inMeans group.Singleton

func (s inMeans) advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return group.Singleton(s).Advantage(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		if out[i] = 0; v.Mean > 0 {
			out[i] = group.Finite(v.Centred(r) / v.Mean)
		}
	}
	return true
}
