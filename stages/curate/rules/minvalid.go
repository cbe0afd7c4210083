package rules

import (
	"fmt"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonMinValid = "min_valid" // its group has too few valid members

// MinValid refuses groups with too few valid members: a single reward cannot be compared.
var MinValid = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "min_valid", Help: "drop groups with too few valid members (--min-valid)",
		New: func() curate.RuleSettings { return &MinValidSettings{} }},
	Reasons: []string{reasonMinValid},
	More:    []string{reasonMinValid},
	Again:   true,
}

// MinValidSettings are empty: the number of valid members is curate's own option,
// because its plan of further generations uses it too.
type MinValidSettings struct{ plugin.None }

// Rule makes the rule; NAT has no such rule.
func (*MinValidSettings) Rule(set curate.Setup) (curate.Rule, error) {
	if set.Compat == curate.CompatNAT {
		return curate.Rule{}, nil
	}
	// the identity has the number even at its default, as existing datasets do
	of := map[string]any{"min-valid": set.MinValid}
	return curate.Rule{Group: minValidRule(set.MinValid).group, Identity: of}, nil
}

type minValidRule int

func (r minValidRule) group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if g.Valid >= int(r) {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: reasonMinValid, Detail: fmt.Sprintf("%d of %d needed", g.Valid, int(r))}
}
