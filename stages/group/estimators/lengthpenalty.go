package estimators

import (
	"math"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// GRPOSettings are the settings of GRPO.
type GRPOSettings struct{ LengthPenalty float64 }

// Declare declares the settings.
func (g *GRPOSettings) Declare(d *plugin.Declarer) {
	d.Float(&g.LengthPenalty, "length-penalty", "subtract `WEIGHT` x the group's mean reward (none below 0) x a member's sampled tokens / "+
		"those of the longest from each reward").ID("grpo.length-penalty")
}

// Estimator makes the estimator.
func (g *GRPOSettings) Estimator(s group.Setup) (group.Estimator, error) {
	e := grpo(s)
	switch w := g.LengthPenalty; {
	case w == 0:
		return e, nil
	case !(w > 0) || math.IsInf(w, 0):
		return e, fault.Errorf(fault.Usage, "give a number of at least 0", "group: --length-penalty %v", w)
	case s.Compat != group.CompatNone && s.Compat != group.CompatPrimeRL:
		return e, fault.Errorf(fault.Usage, "use one of: none, prime-rl", "group: grpo --length-penalty has no --compat %q", s.Compat)
	}
	e.Advantages, e.Flat, e.Lengths = lengthPenalty{e.Advantages, g.LengthPenalty}.advantages, true, true
	return e, nil
}

// lengthPenalty is an estimator of r - weight mean(r) length / max(length): among equal rewards
// the shorter trajectory has more, the more so the more of the group is solved. A mean below 0
// counts as 0: it would make the longer better. Flat groups have it too. It is prime-rl's
// length_penalty with num_output_tokens_weight, without its terms of input tokens and turns,
// which are equal in the whole group for attempts of one turn, and so cancel.
type lengthPenalty struct {
	shaped advantages
	weight float64
}

func (e lengthPenalty) advantages(v *group.Valid, out []float64) bool {
	longest := int32(0)
	for _, l := range v.Lengths {
		longest = max(longest, l.SampledTokens)
	}
	s, mean := group.Valid{Tolerance: v.Tolerance}, max(0, v.Mean)
	for i, r := range v.Rewards {
		share := float64(v.Lengths[i].SampledTokens) / float64(longest)
		s.Rewards = append(s.Rewards, group.Finite(r-group.Finite(e.weight*mean*share)))
	}
	s.Set(s.Rewards)
	return unlessFlat(e.shaped, &s, out)
}
