package estimators

import (
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// RAE is role-conditioned advantage estimation for self-play (SPIRAL, arXiv 2506.24119): a
// reward's distance from the moving average of its role's rewards before it.
//
//	none, prime-rl  r - b, then b = decay b + (1 - decay) r; b begins at 0
//	                (PrimeIntellect-ai/prime-rl, src/prime_rl/orchestrator/algo/rae.py)
//
// with a baseline b for each value of an expression, and rows in the base's order; prime-rl
// takes them in the order of arrival. Failed and unscored members change no baseline. The
// baselines after the last row are in the manifest's state, where --rae-from reads them.
var RAE = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "rae", Help: "distance from the moving average of the role's rewards, from row to row",
		New: func() group.EstimatorSettings { return &RAESettings{By: "metadata.role", Decay: 0.95} }},
	Compats: []group.Compat{group.CompatNone, group.CompatPrimeRL},
}

// RAESettings are the settings of RAE. Decay is from 0 to below 1.
type RAESettings struct {
	By    string
	Decay float64
}

// Declare declares the settings.
func (s *RAESettings) Declare(d *plugin.Declarer) {
	d.String(&s.By, "rae-by", "keep a baseline for each value of `EXPRESSION`, over the columns of --by").ID("rae.by")
	d.Float(&s.Decay, "rae-decay", "keep the share `D` of a baseline at each reward").ID("rae.decay")
}

// Estimator makes the estimator.
func (s *RAESettings) Estimator(group.Setup) (group.Estimator, error) {
	if !(s.Decay >= 0 && s.Decay < 1) {
		return group.Estimator{}, group.Invalid("give a number from 0 to below 1", "--rae-decay %v", s.Decay)
	}
	by, err := group.NewBy("--rae-by", s.By)
	e := group.Estimator{Parts: by, Flat: true, Baselines: map[string]float64{}}
	e.Advantages = func(v *group.Valid, out []float64) bool {
		for i, r := range v.Rewards {
			b := e.Baselines[v.Lengths[i].Part]
			out[i] = group.Finite(r - b)
			e.Baselines[v.Lengths[i].Part] = float64(s.Decay*b) + float64((1-s.Decay)*r)
		}
		return true
	}
	return e, err
}
