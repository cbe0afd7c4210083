package limit

import (
	"fmt"

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

func (most perExample) Groups(_ curate.Batch, groups *curate.Groups) (any, error) {
	example, rank := "", 0
	for g, err := range groups.Sorted(func(g *curate.Group) (curate.Rank, bool) {
		return curate.Rank{Text: g.ExampleID, Value: -float64(g.Epoch)}, true
	}) {
		if err != nil {
			return nil, err
		}
		if rank++; g.ExampleID != example {
			example, rank = g.ExampleID, 1
		}
		if rank <= int(most) {
			continue
		}
		v := curate.Verdict{Reason: formats.DropLimit, Detail: fmt.Sprintf("%d newer groups of its example are kept", most)}
		if err := groups.Refuse(g, v); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
