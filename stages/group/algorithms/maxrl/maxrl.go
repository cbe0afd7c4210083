// Package maxrl is maximum-likelihood RL: a reward's distance from its group's
// mean, in means. Hard examples, which are rarely solved, weigh more. It is
// meant for rewards that are not negative: a group whose mean is not above 0
// carries no signal, and its advantages are 0.
//
//	none      a singleton has no advantage
//	prime-rl  a singleton has 0
package maxrl

import "github.com/rollmill/rollmill/stages/group"

// Estimator is the registry's entry.
var Estimator = group.Estimator{
	Name:    "maxrl",
	Help:    "distance from the group's mean in means",
	ZeroSum: true,
	New:     newAlgorithm,
}

type algorithm struct{ singleton group.Singleton }

func newAlgorithm(s group.Settings) (group.Algorithm, error) {
	if s.NoScale {
		return nil, group.RefuseNoScale("maxrl")
	}
	switch s.Compat {
	case group.CompatNone:
		return algorithm{}, nil
	case group.CompatPrimeRL:
		return algorithm{group.SingletonZero}, nil
	}
	return nil, group.Refuse("maxrl", s, group.CompatNone, group.CompatPrimeRL)
}

func (a algorithm) Advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return a.singleton.Alone(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		if out[i] = 0; v.Mean > 0 {
			out[i] = group.Finite(v.Centred(r) / v.Mean)
		}
	}
	return true
}
