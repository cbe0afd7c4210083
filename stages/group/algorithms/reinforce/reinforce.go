// Package reinforce is the group part of REINFORCE++-baseline: a reward's
// distance from its group's mean. The other part, a whitening over the batch's
// tokens, is the trainer's, who knows which tokens it masks; its parameters
// stand in the manifest's state.
//
//	none      a singleton has no advantage; variance of the population, at least 1e-8
//	openrlhf  a singleton has 0; as none (reinforce_baseline)
//	nemo-rl   a singleton has 0; as none (reinforce_plus_plus, minus_baseline)
//	verl      a singleton has its reward; variance of the sample, plus 1e-8
//	slime     a singleton has 0; as verl (reinforce_plus_plus_baseline)
package reinforce

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
)

// Estimator is the registry's entry.
var Estimator = group.Estimator{
	Name:    "reinforce++-baseline",
	Help:    "distance from the group's mean, whitened over tokens by the trainer",
	ZeroSum: true,
	New:     newAlgorithm,
}

type algorithm struct {
	singleton group.Singleton
	whiten    formats.Whitening
}

func newAlgorithm(s group.Settings) (group.Algorithm, error) {
	if s.NoScale {
		return nil, group.RefuseNoScale("reinforce++-baseline")
	}
	population, sample := formats.Whitening{Floor: 1e-8}, formats.Whitening{Sample: true, Epsilon: 1e-8}
	switch s.Compat {
	case group.CompatNone:
		return algorithm{group.SingletonNone, population}, nil
	case group.CompatOpenRLHF, group.CompatNemoRL:
		return algorithm{group.SingletonZero, population}, nil
	case group.CompatVerl:
		return algorithm{group.SingletonRaw, sample}, nil
	case group.CompatSlime:
		return algorithm{group.SingletonZero, sample}, nil
	}
	return nil, group.Refuse("reinforce++-baseline", s, group.CompatNone, group.CompatVerl, group.CompatOpenRLHF, group.CompatSlime, group.CompatNemoRL)
}

func (a algorithm) Advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return a.singleton.Alone(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = v.Centred(r)
	}
	return true
}

func (a algorithm) Finish() (*formats.BatchStep, *formats.Whitening) { return nil, &a.whiten }
