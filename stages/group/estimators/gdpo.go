package estimators

import (
	"math"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// GDPO normalises each named reward within its group by itself and then takes the weighted sum,
// so that a reward with a wide spread does not dominate the others. The sum is normalised once
// more over the whole batch by curate; the manifest's state describes the step.
//
//	none     each (r - mean) / (population std + 1e-6), the batch's by its
//	         population std + 1e-6; a singleton has no advantage
//	trl      sample stds + 1e-4, both; a singleton has 0 before the batch's step
//	         (multi_objective_aggregation normalize_then_sum)
//	nemo-rl  each as its grpo, of the other members; the batch's by its sample
//	         std alone; a singleton has 0 before the batch's step
//	verl     each as its grpo; the batch's step is a whitening over tokens, the
//	         trainer's, whose parameters stand in the manifest's state
//
// Weights are those of the total. A member without one of the rewards is left
// out of that one's statistics and has nothing added for it, as in TRL.
// Rewards that are equal in the whole group add exactly 0.
var GDPO = group.EstimatorKind{
	Kind:    kind("gdpo", "each named reward in its own standard deviations, summed by weight", gdpo),
	Compats: []group.Compat{group.CompatNone, group.CompatTRL, group.CompatVerl, group.CompatNemoRL},
}

func gdpo(s group.Setup) group.Estimator {
	e := grpo(s)
	switch s.Compat {
	case group.CompatNone:
		e.Batch = &training.BatchStep{Of: training.BatchAdvantages, Center: true, Epsilon: 1e-6}
	case group.CompatTRL:
		e.Batch = &training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true, Epsilon: 1e-4}
	case group.CompatNemoRL:
		e.Batch = &training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true}
	case group.CompatVerl:
		e.Whiten = &training.Whitening{Sample: true, Epsilon: 1e-8}
	}
	each := e.Advantages
	e.Components = func(components []group.Component, out []float64) bool { return sumOfComponents(each, components, out) }
	return e
}

// sumOfComponents sums the advantages of each reward by itself, by weight.
func sumOfComponents(each advantages, components []group.Component, out []float64) bool {
	clear(out)
	has := false
	for i := range components {
		c := &components[i]
		n := len(c.Valid.Rewards)
		if n == 0 {
			continue
		}
		part, k := make([]float64, n), 0
		has = unlessFlat(each, &c.Valid, part) || has
		for i, v := range c.Values {
			if !math.IsNaN(v) {
				out[i] = group.Finite(out[i] + float64(c.Weight*part[k]))
				k++
			}
		}
	}
	return has
}
