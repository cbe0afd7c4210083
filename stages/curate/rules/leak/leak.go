// Package leak refuses trajectories whose example is held out for validation:
// by its id, unless that is only a row number, or by what it says.
package leak

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "leak",
	Help:    "drop trajectories whose example is in a --holdout dataset",
	Reasons: []string{formats.DropLeak},
	New: func(o curate.Options) (curate.Rule, error) {
		if len(o.Holdout) == 0 {
			return nil, nil
		}
		return rule{}, nil
	},
}

type rule struct{}

func (rule) Rows(b curate.Batch, g curate.Group, rows []curate.Row) []curate.Verdict {
	if b.Holdout == nil {
		return nil
	}
	verdicts := make([]curate.Verdict, len(rows))
	for i, r := range rows {
		if why, held := b.Holdout.Holds(r.Member.ExampleID, r.Trajectory.Example); held {
			verdicts[i] = curate.Verdict{Reason: formats.DropLeak, Detail: why}
		}
	}
	return verdicts
}
