package estimators

import (
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
