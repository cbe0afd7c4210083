package rules

import (
	"fmt"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// ExampleLimit is the registry's entry that keeps the newest groups of each example,
// which has several when epochs are trained on again.
var ExampleLimit = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{
		Name: "example_limit", Help: "keep the newest groups of each example, when epochs are trained on again",
		New: newNumber("max-per-example",
			"keep the `N` newest groups of each example, when epochs are trained on again",
			func(n int64) curate.Rule { return curate.Rule{Groups: perExample(n).groups} }),
	},
	Reasons: []string{reasonLimit},

	OfExamples: true,
}

type perExample int

func (limit perExample) groups(_ curate.Batch, groups *curate.Groups) (any, error) {
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
		if rank <= int(limit) {
			continue
		}
		v := curate.Verdict{Reason: reasonLimit, Detail: fmt.Sprintf("%d newer groups of its example are kept", limit)}
		if err := groups.Refuse(g, v); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
