package estimators

import (
	"slices"

	"github.com/rollmill/rollmill/stages/group"
)

// OPO is on-policy RL with the optimal reward baseline (arXiv 2505.23585): a reward's distance
// from its group's mean in which each reward counts once for each token that its trajectory
// sampled. So the advantages of a group sum to zero over tokens, not over members.
//
//	none  r - sum(length r) / sum(length); a singleton has no advantage
//	verl  a singleton has its reward
//
// A length is sampled_tokens, as verl's response_mask has it. A member without
// sampled tokens has no part in the mean; a group without any is an error.
var OPO = group.EstimatorKind{
	Kind: kind("opo", "distance from the group's mean over sampled tokens", func(s group.Setup) group.Estimator {
		return group.Estimator{Advantages: byTokens(singletonOf(s.Compat)).advantages, Lengths: true}
	}),
	Compats: []group.Compat{group.CompatNone, group.CompatVerl},
}

type byTokens group.Singleton

func (s byTokens) advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return group.Singleton(s).Advantage(v.Rewards[0], 1, out)
	}
	tokens, mean := 0.0, 0.0
	for _, l := range v.Lengths {
		tokens += float64(l.SampledTokens)
	}
	for i, r := range v.Rewards {
		out[i] = r * (float64(v.Lengths[i].SampledTokens) / tokens) // cannot overflow
	}
	slices.Sort(out) // the sum does not depend on the order of members
	for _, part := range out {
		mean += part
	}
	mean = min(max(mean, v.Min), v.Max)
	for i, r := range v.Rewards {
		out[i] = group.Finite(r - mean)
	}
	return true
}
