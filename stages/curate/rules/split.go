package rules

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonSplit = "split" // its example is in another part of the split

// Split keeps one side of a seeded split of the examples. The side of an example is a hash of
// only the seed and its id: not of the epoch, the run, the shard or other examples. So one
// example is never on two sides, and the same seed and shares split every epoch in the same way.
// Curate once for each side (--take) to get all of them.
var Split = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "split", Help: "keep one side of a split of the examples",
		New: func() curate.RuleSettings { return &SplitSettings{} }},
	Reasons: []string{reasonSplit},
	Seeded:  true,

	OfExamples: true,
}

type splitRule struct {
	sides Sides
	take  string
}

func (r splitRule) group(b curate.Batch, g *curate.Group) curate.Verdict {
	side := r.side(b.Seed, g.ExampleID)
	if side == r.take {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: reasonSplit, Detail: "its example is in " + side}
}

// side returns the side of an example: the sides divide the range from 0 to 1,
// and the example's hash is in one of them.
func (r splitRule) side(seed int64, example string) string {
	at, end := float64(formats.Seed(seed, "split", example))/math.MaxInt64, 0.0
	for _, s := range r.sides {
		if end += s.Share; at < end {
			return s.Name
		}
	}
	return r.sides[len(r.sides)-1].Name // shares add up to 1 but for rounding
}
