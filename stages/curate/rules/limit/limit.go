// Package limit keeps a number of each group's members: the best, which is
// best-of-n for supervised fine-tuning, or any, chosen by the seed. Equal
// rewards are ranked by a hash of the seed and the id.
package limit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Best is the registry's entry that keeps the best.
var Best = curate.Kind{
	Name:    "best_of",
	Help:    "keep the --best-of members of each group with the highest rewards",
	Reasons: []string{formats.DropBestOf},
	Last:    true,
	New: func(o curate.Options) (curate.Rule, error) {
		if o.BestOf == 0 {
			return nil, nil
		}
		return rule{keep: o.BestOf, best: true, reason: formats.DropBestOf}, nil
	},
}

// Any is the registry's entry that keeps whom the seed chooses.
var Any = curate.Kind{
	Name:    "limit",
	Help:    "keep --max-per-group members of each group",
	Reasons: []string{formats.DropLimit},
	New: func(o curate.Options) (curate.Rule, error) {
		if o.MaxPerGroup == 0 {
			return nil, nil
		}
		return rule{keep: o.MaxPerGroup, reason: formats.DropLimit}, nil
	},
}

type rule struct {
	keep   int
	best   bool
	reason string
}

func (r rule) Members(b curate.Batch, members []formats.Member) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	order, seeds := make([]int, len(members)), make([]int64, len(members))
	for i := range members {
		order[i], seeds[i] = i, formats.Seed(b.Seed, r.reason, members[i].TrajectoryID)
	}
	slices.SortFunc(order, func(i, j int) int {
		better := 0
		if r.best {
			better = cmp.Compare(*members[j].Reward, *members[i].Reward)
		}
		return cmp.Or(better, cmp.Compare(seeds[i], seeds[j]), cmp.Compare(members[i].TrajectoryID, members[j].TrajectoryID))
	})
	for rank, i := range order {
		if rank >= r.keep {
			verdicts[i] = curate.Verdict{Reason: r.reason, Detail: fmt.Sprintf("rank %d, %d are kept", rank+1, r.keep)}
		}
	}
	return verdicts
}
