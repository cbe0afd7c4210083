package rules

import (
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonLeak = "leak" // its example is also held out

// Leak refuses trajectories whose example is held out for validation:
// by its id, unless that is only a row number, or by its content.
var Leak = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "leak", Help: "drop trajectories whose example is held out",
		New: func() curate.RuleSettings { return &LeakSettings{} }},
	Reasons: []string{reasonLeak},
}

// LeakSettings are the rule's settings.
type LeakSettings struct {
	Holdout []string // URIs of rollouts; none: the rule does not run
}

// Declare declares the settings. The datasets' content is part of the identity as inputs.
func (s *LeakSettings) Declare(d *plugin.Declarer) {
	d.Strings(&s.Holdout, "holdout", "do not train on examples of the rollouts at this `URI`").In(plugin.Input)
}

// Rule makes the rule.
func (s *LeakSettings) Rule(curate.Setup) (curate.Rule, error) {
	if len(s.Holdout) == 0 {
		return curate.Rule{}, nil
	}
	rule := eachRow(leaks)
	rule.HeldOut = s.Holdout
	return rule, nil
}

func leaks(b curate.Batch, r curate.Row) curate.Verdict {
	if b.Holdout != nil {
		if why, held := b.Holdout.Holds(r.Member.ExampleID, r.Trajectory.Example); held {
			return curate.Verdict{Reason: reasonLeak, Detail: why}
		}
	}
	return curate.Verdict{}
}
