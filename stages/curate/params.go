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
