// Package minvalid refuses groups with too few valid members: one reward has
// nothing to be compared with.
package minvalid

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "min_valid",
	Help:    "drop groups with fewer valid members than --min-valid",
	Reasons: []string{formats.DropMinValid},
	Again:   true,
	New: func(o curate.Options) (curate.Rule, error) {
		if o.Compat == curate.CompatNAT {
			return nil, nil
		}
		n := o.MinValid
		if n == 0 {
			n = curate.DefaultMinValid
		}
		return rule(n), nil
	},
}

type rule int

func (r rule) Group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if g.Valid >= int(r) {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropMinValid, Detail: fmt.Sprintf("%d of %d needed", g.Valid, int(r))}
}
