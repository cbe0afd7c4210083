// Package budget keeps groups while their sampled tokens fit into a budget.
// Groups come in the order of a hash of the seed and their id; one that does
// not fit any more is left out, and smaller ones after it may still fit. The
// tokens are those of a group's valid members, whoever of them is dropped
// later.
package budget

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "token_budget",
	Help:    "keep groups, in seeded order, while their sampled tokens fit into --token-budget",
	Reasons: []string{formats.DropTokenBudget},
	Tokens:  func(o curate.Options) bool { return o.TokenBudget > 0 },
	New: func(o curate.Options) (curate.Rule, error) {
		if o.TokenBudget == 0 {
			return nil, nil
		}
		return rule(o.TokenBudget), nil
	},
}

type rule int64

func (r rule) Groups(b curate.Batch, groups *curate.Groups) (any, error) {
	left := int64(r)
	for g, err := range groups.Sorted(func(g *curate.Group) (curate.Rank, bool) {
		return curate.Rank{Lot: formats.Seed(b.Seed, "token_budget", g.ID)}, true
	}) {
		if err != nil {
			return nil, err
		}
		if g.SampledTokens <= left {
			left -= g.SampledTokens
			continue
		}
		v := curate.Verdict{Reason: formats.DropTokenBudget, Detail: fmt.Sprintf("%d tokens, %d are left", g.SampledTokens, left)}
		if err := groups.Refuse(g, v); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
