// Package leak refuses trajectories whose example is held out for validation:
// by its id, unless that is only a row number, or by what it says.
package leak

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = curate.RuleKind{
	Kind:    plugin.Kind[curate.RuleSettings]{Name: "leak", Help: "drop trajectories whose example is held out", New: func() curate.RuleSettings { return &Settings{} }},
	Reasons: []string{formats.DropLeak},
}

// Settings are the rule's.
type Settings struct {
	Holdout []string // URIs of rollouts; none: the rule does not run
}

// Declare names them. What the datasets hold is part of the identity as inputs.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Strings(&s.Holdout, "holdout", "train on no example that is in the rollouts at this `URI`").In(plugin.Input)
}

// HeldOut are the datasets whose examples the batch has to know.
func (s *Settings) HeldOut() []string { return s.Holdout }

// Rule makes the rule.
func (s *Settings) Rule(curate.Setup) (curate.Rule, error) {
	if len(s.Holdout) == 0 {
		return nil, nil
	}
	return rule{}, nil
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
