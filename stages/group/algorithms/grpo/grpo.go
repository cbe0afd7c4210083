// Package grpo is group-relative policy optimisation: a reward's distance
// from its group's mean, in standard deviations.
//
//	none  (r - mean) / (population std + 1e-6); a singleton has no advantage
//	art   the same; ART drops a singleton, whose advantage would be 0
//	trl   (r - mean) / (sample std + 1e-4); a singleton has 0
//	verl  (r - mean) / (sample std + 1e-6); a singleton has r / (1 + 1e-6),
//	      its own reward, since verl takes its mean for 0 and its std for 1
//
// With NoScale nothing is divided (ART and TRL: scale_rewards false or
// "none"; verl: norm_adv_by_std_in_grpo false, also known as Dr.GRPO).
//
// It differs from the trainers in one point: they compute the noise of
// rounding in a flat group (three times 0.1 has the mean
// 0.10000000000000002) and divide by it, which for large rewards gives
// advantages near 1 out of nothing. Flat groups do not come here; they have
// advantages of exactly 0.
package grpo

import (
	"strings"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
)

// Estimator is the registry's entry.
var Estimator = group.Estimator{
	Name:    "grpo",
	Help:    "distance from the group's mean in standard deviations",
	ZeroSum: true,
	New:     newAlgorithm,
}

type singleton int

const (
	none singleton = iota // no advantage
	zero
	raw // mean 0, std 1
)

type algorithm struct {
	sample    bool // divisor n-1
	epsilon   float64
	singleton singleton
	noScale   bool
}

func newAlgorithm(s group.Settings) (group.Algorithm, error) {
	a := algorithm{noScale: s.NoScale}
	switch s.Compat {
	case group.CompatNone, group.CompatART:
		a.epsilon = 1e-6
	case group.CompatTRL:
		a.sample, a.epsilon, a.singleton = true, 1e-4, zero
	case group.CompatVerl:
		a.sample, a.epsilon, a.singleton = true, 1e-6, raw
	default:
		var known []string
		for _, c := range group.Compats {
			known = append(known, string(c))
		}
		return nil, stages.Errorf(stages.KindUsage, "use one of: "+strings.Join(known, ", "), "group: grpo has no --compat %q", s.Compat)
	}
	return a, nil
}

func (a algorithm) Advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return a.single(v, out)
	}
	std := v.StdPop
	if a.sample {
		std = v.StdSample
	}
	for i, r := range v.Rewards {
		if a.noScale {
			out[i] = v.Centred(r)
		} else {
			out[i] = v.Scaled(r, std, a.epsilon)
		}
	}
	return true
}

func (a algorithm) single(v *group.Valid, out []float64) bool {
	switch {
	case a.singleton == none:
		return false
	case a.singleton == zero:
		out[0] = 0
	case a.noScale:
		out[0] = v.Rewards[0]
	default:
		out[0] = v.Rewards[0] / (1 + a.epsilon)
	}
	return true
}
