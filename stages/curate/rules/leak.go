package rules

import (
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonLeak = "leak" // its example is also held out, or it has words of one that is

// Leak refuses trajectories whose example is held out for validation: by its id, unless that is only a row number, by
// its content, or by a run of words that they have in common with it.
var Leak = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "leak", Help: "drop trajectories whose example is held out",
		New: func() curate.RuleSettings { return &LeakSettings{} }},
	Reasons: []string{reasonLeak},
}

// LeakSettings are the rule's settings. Without any the rule does not run.
type LeakSettings struct{ heldout.Options }

// Declare declares the settings. What the URIs hold is part of the identity as inputs.
func (s *LeakSettings) Declare(d *plugin.Declarer) {
	d.Strings(&s.URIs, "holdout", "do not train on examples of this `URI`: a rollout, import or task file").In(plugin.Input)
	d.Int(&s.Ngrams, "holdout-ngrams", "drop rows that share `N` words in a row with a text of --holdout; 13 is usual").
		DefaultShown("not compared").ID("holdout-ngrams")
	d.Strings(&s.Fields, "holdout-field", "compare this `FIELD` of --holdout, example.NAME or messages.ROLE").
		DefaultShown("all").ID("holdout-field")
}

// Rule makes the rule.
func (s *LeakSettings) Rule(curate.Setup) (curate.Rule, error) {
	if len(s.URIs)+len(s.Fields) == 0 && s.Ngrams == 0 {
		return curate.Rule{}, nil
	}
	rule := eachRow(leaks)
	rule.HeldOut = &heldout.Options{URIs: s.URIs, Flag: "--holdout", Ngrams: s.Ngrams, Fields: s.Fields}
	return rule, nil
}

func leaks(b curate.Batch, r curate.Row) curate.Verdict {
	if hit := b.Holdout.Holds(r.Trajectory); hit != nil {
		return curate.Verdict{Reason: reasonLeak, Detail: hit.String()}
	}
	return curate.Verdict{}
}
