package estimators

import (
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// Reinforce is the group part of REINFORCE++-baseline: a reward's distance from its group's
// mean. The other part, a whitening over the batch's tokens, is left to the trainer, which knows
// the tokens it masks; the manifest's state has its parameters.
//
//	none      a singleton has no advantage; variance of the population, at least 1e-8
//	openrlhf  a singleton has 0; as none (reinforce_baseline)
//	nemo-rl   a singleton has 0; as none (reinforce_plus_plus, minus_baseline)
//	verl      a singleton has its reward; variance of the sample, plus 1e-8
//	slime     a singleton has 0; as verl (reinforce_plus_plus_baseline)
var Reinforce = group.EstimatorKind{
	Kind:    kind("reinforce++-baseline", "distance from the group's mean, whitened over tokens by the trainer", reinforce),
	Compats: whitening,
	ZeroSum: true,
}

var whitening = []group.Compat{group.CompatNone, group.CompatVerl, group.CompatOpenRLHF, group.CompatSlime, group.CompatNemoRL}

func reinforce(s group.Setup) group.Estimator {
	e := group.Estimator{Advantages: singletonOf(s.Compat).Centred, Whiten: &training.Whitening{Floor: 1e-8}}
	if s.Compat == group.CompatVerl || s.Compat == group.CompatSlime {
		e.Whiten = &training.Whitening{Sample: true, Epsilon: 1e-8}
	}
	return e
}
