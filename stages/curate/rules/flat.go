package rules

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonFlat = "flat" // its group gives no training signal

// Flat refuses groups from which a trainer learns nothing: all their advantages are 0, or,
// with preferences or labels, their rewards are equal (curate.Group.Flat).
var Flat = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "flat", Help: "drop groups without a training signal: all advantages are 0",
		New: func() curate.RuleSettings { return &FlatSettings{} }},
	Reasons: []string{reasonFlat},
	More:    []string{reasonFlat},
	Again:   true,
}

// FlatSettings are the rule's settings. The tolerance for equal rewards is curate's
// own option, because its plan of further generations uses it too.
type FlatSettings struct {
	Keep bool // the rule does not run
}

// Declare declares the settings.
func (s *FlatSettings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Keep, "keep-flat", "keep groups whose advantages are all 0; with _pairs or _labels, those whose rewards are all equal").ID("keep-flat")
}

// Rule makes the rule; NAT drops flat groups in its curriculum only.
func (s *FlatSettings) Rule(set curate.Setup) (curate.Rule, error) {
	switch {
	case set.Compat == curate.CompatNAT:
		return curate.Rule{}, nil
	case s.Keep:
		return curate.Rule{Identity: plugin.Identity(s, &FlatSettings{})}, nil
	}
	// the identity has the settings even at their defaults, as existing datasets do
	return curate.Rule{Group: flatRule(set.FlatTolerance).group,
		Identity: map[string]any{"keep-flat": false, "flat-tolerance": set.FlatTolerance}}, nil
}

type flatRule float64

func (r flatRule) group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if !g.Flat(float64(r)) {
		return curate.Verdict{}
	}
	if g.Trains != training.TrainsByRewards && g.Min != g.Max {
		return curate.Verdict{Reason: reasonFlat, Detail: "all advantages are 0"}
	}
	return curate.Verdict{Reason: reasonFlat, Detail: fmt.Sprintf("all rewards are %.6g", g.Mean)}
}
