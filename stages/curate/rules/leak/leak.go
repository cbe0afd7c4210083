// Package leak refuses trajectories whose example is held out for validation:
// by its id, unless that is only a row number, or by its content.
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

// Settings are the rule's settings.
type Settings struct {
	Holdout []string // URIs of rollouts; none: the rule does not run
}

// Declare declares the settings. The datasets' content is part of the identity
// as inputs.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Strings(&s.Holdout, "holdout", "do not train on examples of the rollouts at this `URI`").In(plugin.Input)
}

// HeldOut returns the datasets whose examples the batch has to know.
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
