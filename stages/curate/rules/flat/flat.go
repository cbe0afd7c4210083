// Package flat refuses groups whose rewards are all the same: they teach a
// group-relative trainer nothing. The same but for rounding counts as the
// same (formats.Flat).
package flat

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = curate.RuleKind{
	Kind:    plugin.Kind[curate.RuleSettings]{Name: "flat", Help: "drop groups whose rewards are all the same", New: func() curate.RuleSettings { return &Settings{} }},
	Reasons: []string{formats.DropFlat},
	Again:   true,
}

// Settings are the rule's. How near rewards count as the same is curate's own
// option, since its plan of further generations asks the same.
type Settings struct {
	Keep bool // the rule does not run
}

// Declare names them.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Keep, "keep-flat", "keep groups whose rewards are all the same").ID("keep-flat")
}

// Rule makes the rule; NAT drops flat groups in its curriculum only.
func (s *Settings) Rule(set curate.Setup) (curate.Rule, error) {
	if s.Keep || set.Compat == curate.CompatNAT {
		return nil, nil
	}
	return rule(set.FlatTolerance), nil
}

// Identity holds the rule's settings at their defaults, too, as datasets have it.
func (s *Settings) Identity(set curate.Setup) map[string]any {
	switch {
	case set.Compat == curate.CompatNAT:
		return nil
	case s.Keep:
		return plugin.Identity(s, &Settings{})
	}
	return map[string]any{"keep-flat": false, "flat-tolerance": set.FlatTolerance}
}

type rule float64

func (r rule) Group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if g.Valid == 0 || !formats.Flat(g.Min, g.Max, float64(r)) {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropFlat, Detail: fmt.Sprintf("all rewards are %.6g", g.Mean)}
}
