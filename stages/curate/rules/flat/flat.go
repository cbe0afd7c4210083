// Package flat refuses groups whose rewards are all the same: they teach a
// group-relative trainer nothing. The same but for rounding counts as the
// same (formats.Flat).
package flat

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "flat",
	Help:    "drop groups whose rewards are all the same",
	Reasons: []string{formats.DropFlat},
	Again:   true,
	New: func(o curate.Options) (curate.Rule, error) {
		if o.KeepFlat || o.Compat == curate.CompatNAT {
			return nil, nil
		}
		if o.FlatTolerance != nil {
			return rule(*o.FlatTolerance), nil
		}
		return rule(formats.FlatTolerance), nil
	},
}

type rule float64

func (r rule) Group(_ curate.Batch, g *curate.Group) curate.Verdict {
	if g.Valid == 0 || !formats.Flat(g.Min, g.Max, float64(r)) {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropFlat, Detail: fmt.Sprintf("all rewards are %.6g", g.Mean)}
}
