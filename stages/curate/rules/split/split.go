// Package split keeps one side of a seeded split of the examples. Which side an
// example is on is a hash of the seed and its id alone: not of the epoch, the
// run, the shard or what else there is. So one example is never on two sides,
// and the same seed and shares split every epoch alike. Curate once for each
// side (--take) to have all of them.
package split

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Kind is the registry's entry.
var Kind = curate.RuleKind{
	Kind:    plugin.Kind[curate.RuleSettings]{Name: "split", Help: "keep one side of a split of the examples", New: func() curate.RuleSettings { return &Settings{} }},
	Reasons: []string{formats.DropSplit},
	Seeded:  true,

	OfExamples: true,
}

type rule struct {
	sides Sides
	take  string
}

func (r rule) Group(b curate.Batch, g *curate.Group) curate.Verdict {
	side := r.side(b.Seed, g.ExampleID)
	if side == r.take {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: formats.DropSplit, Detail: "its example is in " + side}
}

// side is where an example is: the sides lie one after the other from 0 to 1,
// and its hash falls into one of them.
func (r rule) side(seed int64, example string) string {
	at, end := float64(formats.Seed(seed, "split", example))/math.MaxInt64, 0.0
	for _, s := range r.sides {
		if end += s.Share; at < end {
			return s.Name
		}
	}
	return r.sides[len(r.sides)-1].Name // shares add up to 1 but for rounding
}
