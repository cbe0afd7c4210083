package estimators

import (
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// Reinforce is the group part of REINFORCE++-baseline: a reward's
// distance from its group's mean. The other part, a whitening over the batch's
// tokens, is left to the trainer, which knows the tokens it masks; the
// manifest's state has its parameters.
//
//	none      a singleton has no advantage; variance of the population, at least 1e-8
//	openrlhf  a singleton has 0; as none (reinforce_baseline)
//	nemo-rl   a singleton has 0; as none (reinforce_plus_plus, minus_baseline)
//	verl      a singleton has its reward; variance of the sample, plus 1e-8
//	slime     a singleton has 0; as verl (reinforce_plus_plus_baseline)
var Reinforce = group.EstimatorKind{
	Kind: kind("reinforce++-baseline", "distance from the group's mean, whitened over tokens by the trainer",
		func(s group.Setup) (group.Estimator, error) { return reinforce("reinforce++-baseline", s) }),
	ZeroSum: true,
}

func reinforce(name string, s group.Setup) (e group.Estimator, err error) {
	if s.NoScale {
		return e, group.RefuseNoScale(name)
	}
	population, sample := &training.Whitening{Floor: 1e-8}, &training.Whitening{Sample: true, Epsilon: 1e-8}
	switch s.Compat {
	case group.CompatNone:
		return group.Estimator{Advantages: group.SingletonNone.Centred, Whiten: population}, nil
	case group.CompatOpenRLHF, group.CompatNemoRL:
		return group.Estimator{Advantages: group.SingletonZero.Centred, Whiten: population}, nil
	case group.CompatVerl:
		return group.Estimator{Advantages: group.SingletonRaw.Centred, Whiten: sample}, nil
	case group.CompatSlime:
		return group.Estimator{Advantages: group.SingletonZero.Centred, Whiten: sample}, nil
	}
	return e, group.Refuse(name, s, group.CompatNone, group.CompatVerl, group.CompatOpenRLHF,
		group.CompatSlime, group.CompatNemoRL)
}
