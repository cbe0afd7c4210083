// Package grpobatch is GRPO with the standard deviation of the whole batch: a
// reward's distance from its group's mean, divided by the deviation of all the
// batch's rewards. The division is curate's, since only then the whole batch
// is known; until then advantages are distances, and the step stands in the
// manifest's state.
//
//	none  (r - group's mean) / (the batch's population std + 1e-6); a singleton has none
//	trl   (r - group's mean) / (the batch's sample std + 1e-4); a singleton has 0 (scale_rewards batch)
package grpobatch

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
)

// Estimator is the registry's entry.
var Estimator = group.Estimator{
	Name:    "grpo-batch",
	Help:    "distance from the group's mean in standard deviations of the batch",
	ZeroSum: true,
	New:     newAlgorithm,
}

type algorithm struct {
	singleton group.Singleton
	step      formats.BatchStep
}

func newAlgorithm(s group.Settings) (group.Algorithm, error) {
	if s.NoScale {
		return nil, group.RefuseNoScale("grpo-batch")
	}
	switch s.Compat {
	case group.CompatNone:
		return algorithm{group.SingletonNone, formats.BatchStep{Of: formats.BatchRewards, Epsilon: 1e-6}}, nil
	case group.CompatTRL:
		return algorithm{group.SingletonZero, formats.BatchStep{Of: formats.BatchRewards, Sample: true, Epsilon: 1e-4}}, nil
	}
	return nil, group.Refuse("grpo-batch", s, group.CompatNone, group.CompatTRL)
}

func (a algorithm) Advantages(v *group.Valid, out []float64) bool {
	if len(out) == 1 {
		return a.singleton.Alone(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = v.Centred(r)
	}
	return true
}

func (a algorithm) Finish() (*formats.BatchStep, *formats.Whitening) { return &a.step, nil }
