// Package minvalid refuses groups with too few valid members: one reward has
// nothing to be compared with.
package minvalid

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = curate.RuleKind{
	Kind:    plugin.Kind[curate.RuleSettings]{Name: "min_valid", Help: "drop groups with too few valid members (--min-valid)", New: func() curate.RuleSettings { return &Settings{} }},
	Reasons: []string{formats.DropMinValid},
	Again:   true,
}

// Settings are none: how many are enough is curate's own option, since its plan
// of further generations asks the same.
type Settings struct{}

// Declare names nothing.
func (*Settings) Declare(*plugin.Declarer) {}

// Rule makes the rule; NAT has none like it.
func (*Settings) Rule(set curate.Setup) (curate.Rule, error) {
	if set.Compat == curate.CompatNAT {
		return nil, nil
	}
	return rule(set.MinValid), nil
}

// Identity holds the number at its default, too, as datasets have it.
func (*Settings) Identity(set curate.Setup) map[string]any {
	if set.Compat == curate.CompatNAT {
		return nil
	}
	return map[string]any{"min-valid": set.MinValid}
}

type rule int

func (r rule) Group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if g.Valid >= int(r) {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropMinValid, Detail: fmt.Sprintf("%d of %d needed", g.Valid, int(r))}
}
