// Package rloo is REINFORCE with a leave-one-out baseline: a reward less the
// mean of the others, which is n/(n-1) times its distance from the mean.
//
//	none      a singleton has no advantage
//	trl       a singleton has 0 (normalize_advantages false, its default)
//	openrlhf  a singleton would be 0/0 there, and has none
//	verl      a singleton has its reward
//	nemo-rl   a singleton has 0 (grpo, normalize_rewards false)
package rloo

import "github.com/rollmill/rollmill/stages/group"

// Estimator is the registry's entry.
var Estimator = group.Estimator{
	Name:    "rloo",
	Help:    "distance from the mean of the other members",
	ZeroSum: true,
	New:     newAlgorithm,
}

type algorithm struct{ singleton group.Singleton }

func newAlgorithm(s group.Settings) (group.Algorithm, error) {
	if s.NoScale {
		return nil, group.RefuseNoScale("rloo")
	}
	switch s.Compat {
	case group.CompatNone, group.CompatOpenRLHF:
		return algorithm{}, nil
	case group.CompatTRL, group.CompatNemoRL:
		return algorithm{group.SingletonZero}, nil
	case group.CompatVerl:
		return algorithm{group.SingletonRaw}, nil
	}
	return nil, group.Refuse("rloo", s, group.CompatNone, group.CompatTRL, group.CompatVerl, group.CompatOpenRLHF, group.CompatNemoRL)
}

func (a algorithm) Advantages(v *group.Valid, out []float64) bool {
	n := float64(len(out))
	if n == 1 {
		return a.singleton.Alone(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = group.Finite(v.Centred(r) * (n / (n - 1)))
	}
	return true
}
