package estimators

import "github.com/rollmill/rollmill/stages/group"

// PassK is verl's leader variant of a pass@k advantage (arXiv 2503.19595): only the
// best member has one, its lead over the second in standard deviations; with two
// equal best members it is 0. There is no k. PassKAnalytic is the other one.
//
//	none  (max - second) / (sample std + 1e-6); a singleton has no advantage
//	verl  the same (grpo_passk, which refuses a singleton)
//
// With NoScale nothing is divided (norm_adv_by_std_in_grpo false).
var PassK = group.EstimatorKind{
	Kind: kind("passk", "pass@k as verl's leader variant: the best member's lead over the second, in standard deviations",
		func(s group.Setup) group.Estimator {
			return group.Estimator{Advantages: passKEstimator{s.NoScale}.advantages}
		}),
	Compats: []group.Compat{group.CompatNone, group.CompatVerl},
	Scaled:  true,
}

type passKEstimator struct{ noScale bool }

func (e passKEstimator) advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return false
	}
	lead := group.Finite(v.Max - v.Second())
	if !e.noScale {
		// halves cannot overflow
		lead = group.Finite((float64(v.Max/2) - float64(v.Second()/2)) / (float64(v.StdSample/2) + 1e-6/2))
	}
	for i, r := range v.Rewards {
		if out[i] = 0; r == v.Max {
			out[i] = lead
		}
	}
	return true
}
