// Package minvalid refuses groups with too few valid members: a single reward
// cannot be compared.
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

// Settings are empty: the number of valid members is curate's own option,
// because its plan of further generations uses it too.
type Settings struct{}

// Declare declares nothing.
func (*Settings) Declare(*plugin.Declarer) {}

// Rule makes the rule; NAT has no such rule.
func (*Settings) Rule(set curate.Setup) (curate.Rule, error) {
	if set.Compat == curate.CompatNAT {
		return nil, nil
	}
	return rule(set.MinValid), nil
}

// Identity includes the number even at its default, as existing datasets have
// it.
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
