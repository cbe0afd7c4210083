package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const (
	reasonBestOf = "best_of" // enough members of its group are better
	reasonLimit  = "limit"   // enough members of its group, or groups of its example, are kept
)

// BestOf keeps the best members of each group, for supervised fine-tuning. Equal
// rewards are ranked by a hash of the seed and the id.
var BestOf = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{
		Name: "best_of", Help: "keep the members of each group with the highest rewards",
		New: newNumber("best-of", "keep the `N` best of each group, for supervised fine-tuning",
			func(n int64) curate.Rule { return limitRule{keep: int(n), best: true, reason: reasonBestOf}.rule() }),
	},
	Reasons: []string{reasonBestOf},
	Last:    true,
	Seeded:  true,
}

// Limit is the registry's entry that keeps those the seed chooses.
var Limit = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{
		Name: "limit", Help: "keep a number of members of each group, chosen by the seed",
		New: newNumber("max-per-group", "keep `N` of each group, chosen at random",
			func(n int64) curate.Rule { return limitRule{keep: int(n), reason: reasonLimit}.rule() }),
	},
	Reasons: []string{reasonLimit},
	Seeded:  true,
}

type limitRule struct {
	keep   int
	best   bool
	reason string
}

func (r limitRule) rule() curate.Rule { return curate.Rule{Members: r.members} }

func (r limitRule) members(b curate.Batch, members []formats.Member) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	for rank, i := range drawn(b.Seed, r.reason, members, r.best) {
		if rank >= r.keep {
			verdicts[i] = curate.Verdict{Reason: r.reason, Detail: fmt.Sprintf("rank %d, %d are kept", rank+1, r.keep)}
		}
	}
	return verdicts
}

// drawn returns the indexes of members in an order that the seed draws for a rule, by
// ids alone; with best, those with the highest reward come first.
func drawn(seed int64, rule string, members []formats.Member, best bool) []int {
	order, seeds := make([]int, len(members)), make([]int64, len(members))
	for i := range members {
		order[i], seeds[i] = i, formats.Seed(seed, rule, members[i].TrajectoryID)
	}
	slices.SortFunc(order, func(i, j int) int {
		better := 0
		if best {
			better = cmp.Compare(*members[j].Reward, *members[i].Reward)
		}
		return cmp.Or(better, cmp.Compare(seeds[i], seeds[j]), cmp.Compare(members[i].TrajectoryID, members[j].TrajectoryID))
	})
	return order
}
