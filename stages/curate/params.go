package curate

import "github.com/rollmill/rollmill/formats"

// params are the options that change rows, as the flags are named. What an
// option that is off would say is left out, so that it changes no identity.
func (o *Options) params(epoch int) map[string]any {
	p := map[string]any{"epoch": epoch, "compat": string(o.Compat)}
	if o.Compat != CompatNAT {
		p["keep-flat"] = o.KeepFlat
		p["min-valid"] = o.minValid()
		if !o.KeepFlat {
			p["flat-tolerance"] = o.tolerance()
		}
	}
	o.ruleParams(p)
	if c := o.Curriculum; c.Enabled {
		p["curriculum"] = map[string]any{
			"initial": c.Initial, "increment": c.Increment, "interval": c.Interval,
			"min-reward-diff": *c.MinRewardDiff, "ascending": c.Ascending, "random-subsample": c.RandomSubsample,
		}
		p["seed"] = o.Seed
	}
	return p
}

func (o *Options) minValid() int {
	if o.MinValid == 0 {
		return DefaultMinValid
	}
	return o.MinValid
}

func (o *Options) tolerance() float64 {
	if o.FlatTolerance == nil {
		return formats.FlatTolerance
	}
	return *o.FlatTolerance
}

func (o *Options) ruleParams(p map[string]any) {
	set := func(name string, value any, asked bool) {
		if asked {
			p[name] = value
		}
	}
	set("sample-groups", o.SampleGroups, o.SampleGroups != nil)
	set("token-budget", o.TokenBudget, o.TokenBudget > 0)
	set("policy-version", o.PolicyVersion, o.PolicyVersion != nil)
	set("max-staleness", o.MaxStaleness, o.MaxStaleness != nil)
	set("check-logprobs", true, o.CheckLogprobs)
	set("any-temperature", true, o.AnyTemperature)
	set("logprob-floor", o.LogprobFloor, o.LogprobFloor != nil)
	set("max-sampled-tokens", o.MaxSampledTokens, o.MaxSampledTokens > 0)
	set("max-sequence-tokens", o.MaxSequenceTokens, o.MaxSequenceTokens > 0)
	set("min-messages", o.MinMessages, o.MinMessages > 0)
	set("drop-duplicates", true, o.DropDuplicates)
	set("drop-near-duplicates", o.NearDuplicates, o.NearDuplicates != nil)
	set("max-per-example", o.MaxPerExample, o.MaxPerExample > 0)
	set("split", o.Split, len(o.Split) > 0)
	set("take", o.Take, len(o.Split) > 0)
	set("pools", o.Pools, o.Pools.Enabled)
	set("filter", o.Filters, len(o.Filters) > 0)
	set("sample-trajectories", o.SampleTrajectories, o.SampleTrajectories != nil)
	set("best-of", o.BestOf, o.BestOf > 0)
	set("max-per-group", o.MaxPerGroup, o.MaxPerGroup > 0)
	set("recompute", true, o.Recompute != nil)
	o.Next.params(set)
	set("seed", o.Seed, o.SampleGroups != nil || o.SampleTrajectories != nil || o.TokenBudget > 0 || o.MaxPerGroup > 0 || o.BestOf > 0 ||
		len(o.Split) > 0 || o.Pools.Enabled || o.Next.Budget != nil)
}
