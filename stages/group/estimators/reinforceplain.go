package estimators

import "github.com/rollmill/rollmill/stages/group"

// ReinforcePlain is REINFORCE++ without a baseline (arXiv 2501.03262): the reward itself,
// singleton or not, in flat groups too (curate --keep-flat --min-valid 1 keeps both; without,
// groups whose rewards are all 0 are dropped). Whitening over the batch's tokens, which
// subtracts the mean, is left to the trainer; the manifest's state has its parameters.
//
//	none, openrlhf, nemo-rl  variance of the population, at least 1e-8 (OpenRLHF's
//	                         reinforce; NeMo-RL's reinforce_plus_plus, minus_baseline false)
//	verl, slime              variance of the sample, plus 1e-8 (reinforce_plus_plus)
//
// That is the outcome part. The paper's reward of a token also has a KL penalty,
// and the return of a token sums the rewards from it on, discounted: both need
// logprobs of a reference model or tokens, and are the trainer's.
var ReinforcePlain = group.EstimatorKind{
	Kind: kind("reinforce++", "the reward itself, whitened over tokens by the trainer",
		func(s group.Setup) group.Estimator {
			e := reinforce(s)
			e.Flat, e.Advantages = true, func(v *group.Valid, out []float64) bool {
				copy(out, v.Rewards)
				return true
			}
			return e
		}),
	Compats: whitening,
}
