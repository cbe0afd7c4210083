package rules

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonTokenBudget = "token_budget" // the budget was spent on other groups

// Budget keeps groups while their sampled tokens fit into a budget.
// Groups come in the order of a hash of the seed and their id; one that does
// not fit is dropped, and smaller ones after it may still fit. The tokens are
// those of a group's valid members, even of those that are dropped later.
var Budget = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{
		Name: "token_budget", Help: "keep groups, in seeded order, while their sampled tokens fit into a budget",
		New: newNumber("token-budget", "keep groups, in random order, while their sampled tokens fit into `N`",
			func(n int64) curate.Rule { return curate.Rule{Groups: budgetRule(n).groups, Tokens: true} }),
	},
	Reasons: []string{reasonTokenBudget},
	Seeded:  true,
	Forks:   true, // their tokens are trained too
}

type budgetRule int64

func (r budgetRule) groups(b curate.Batch, groups *curate.Groups) (any, error) {
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
		v := curate.Verdict{Reason: reasonTokenBudget, Detail: fmt.Sprintf("%d tokens, %d are left", g.SampledTokens, left)}
		if err := groups.Refuse(g, v); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
