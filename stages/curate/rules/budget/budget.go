// Package budget keeps groups while their sampled tokens fit into a budget.
// Groups come in the order of a hash of the seed and their id; one that does
// not fit any more is left out, and smaller ones after it may still fit. The
// tokens are those of a group's valid members, whoever of them is dropped
// later.
package budget

import (
	"cmp"
	"fmt"
	"slices"

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

func (r rule) Groups(b curate.Batch, groups []curate.Group) (curate.Ruling, error) {
	order, seeds := make([]int, len(groups)), make([]int64, len(groups))
	for i, g := range groups {
		order[i], seeds[i] = i, formats.Seed(b.Seed, "token_budget", g.ID)
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(seeds[i], seeds[j]), cmp.Compare(groups[i].ID, groups[j].ID))
	})
	left := int64(r)
	verdicts := make([]curate.Verdict, len(groups))
	for _, i := range order {
		n := groups[i].SampledTokens
		if n > left {
			verdicts[i] = curate.Verdict{Reason: formats.DropTokenBudget, Detail: fmt.Sprintf("%d tokens, %d are left", n, left)}
			continue
		}
		left -= n
	}
	return curate.Ruling{Verdicts: verdicts}, nil
}
