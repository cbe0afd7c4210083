package limit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Example is the registry's entry that keeps a number of each example's
// groups, which are several when epochs are trained on again: the newest.
var Example = curate.Kind{
	Name:    "example_limit",
	Help:    "keep the --max-per-example newest groups of each example",
	Reasons: []string{formats.DropLimit},
	New: func(o curate.Options) (curate.Rule, error) {
		if o.MaxPerExample == 0 {
			return nil, nil
		}
		return perExample(o.MaxPerExample), nil
	},
}

type perExample int

func (most perExample) Groups(_ curate.Batch, groups []curate.Group) (curate.Ruling, error) {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &groups[i], &groups[j]
		return cmp.Or(cmp.Compare(a.ExampleID, b.ExampleID), cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(a.ID, b.ID))
	})
	verdicts := make([]curate.Verdict, len(groups))
	rank := 0
	for k, i := range order {
		if rank++; k == 0 || groups[order[k-1]].ExampleID != groups[i].ExampleID {
			rank = 1
		}
		if rank > int(most) {
			verdicts[i] = curate.Verdict{Reason: formats.DropLimit, Detail: fmt.Sprintf("%d newer groups of its example are kept", most)}
		}
	}
	return curate.Ruling{Verdicts: verdicts}, nil
}
