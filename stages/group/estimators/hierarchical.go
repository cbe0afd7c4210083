package estimators

import (
	"math"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Hierarchical is GRPO within parts of a group, such as the roles of several agents. Roles
// that are compared within an episode only have the episode in their part's value.
//
//	none      as grpo within the part; a member alone in its part has no advantage
//	prime-rl  r - mean of the part, never divided; a member alone in its part has 0
//	          (PrimeIntellect-ai/prime-rl, src/prime_rl/orchestrator/algo/hierarchical_grpo.py)
var Hierarchical = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "hierarchical", Help: "the advantage of grpo within a part of the group, such as an agent's role",
		New: func() group.EstimatorSettings { return &HierarchicalSettings{By: "metadata.role"} }},
	Compats: []group.Compat{group.CompatNone, group.CompatPrimeRL},
	Scaled:  true,
	ZeroSum: true,
}

// HierarchicalSettings are the settings of Hierarchical.
type HierarchicalSettings struct{ By string }

// Declare declares the settings.
func (s *HierarchicalSettings) Declare(d *plugin.Declarer) {
	d.String(&s.By, "hierarchical-by", "compare only members of a group with the same value of `EXPRESSION`, over the columns of --by").
		ID("hierarchical.by")
}

// Estimator makes the estimator.
func (s *HierarchicalSettings) Estimator(setup group.Setup) (group.Estimator, error) {
	by, err := group.NewBy("--hierarchical-by", s.By)
	e := grpo(setup)
	part := e.Advantages
	e.Advantages = func(v *group.Valid, out []float64) bool { return byPart(part, v, out) }
	e.Parts, e.Flat = by, true
	return e, err
}

// advantages is Estimator.Advantages.
type advantages func(v *group.Valid, out []float64) bool

// byPart computes the advantages of each part as of a group; NaN where there are none.
func byPart(of advantages, v *group.Valid, out []float64) (some bool) {
	parts := map[string][]int{}
	for i := range v.Rewards {
		parts[v.Lengths[i].Part] = append(parts[v.Lengths[i].Part], i)
	}
	for _, members := range parts {
		part := group.Valid{Tolerance: v.Tolerance}
		for _, i := range members {
			part.Rewards = append(part.Rewards, v.Rewards[i])
		}
		part.Set(part.Rewards)
		own := make([]float64, len(members))
		has := unlessFlat(of, &part, own)
		some = some || has
		for k, i := range members {
			if out[i] = own[k]; !has {
				out[i] = math.NaN()
			}
		}
	}
	return some
}

// unlessFlat computes advantages; those of a flat group of two or more are 0.
func unlessFlat(of advantages, v *group.Valid, out []float64) bool {
	if len(out) > 1 && v.Flat() {
		clear(out)
		return true
	}
	return of(v, out)
}
