package estimatortest

import (
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

type suite struct {
	group.EstimatorKind
	setup     group.Setup
	estimator group.Estimator
}

// credits returns the advantage of each member, null as NaN, and those of its steps; nil
// for a group without any.
func (s suite) credits(t *rapid.T, members []formats.Member, lengths []group.Length) [][]float64 {
	all := make([]group.Length, len(lengths))
	for i := range lengths { // steps get rewards
		all[i] = lengths[i]
		all[i].Steps = slices.Clone(lengths[i].Steps)
	}
	fresh, _ := s.Make(s.New(), s.setup) // it may remember the rows before
	g := group.Grouper{Estimator: fresh, Setup: s.setup}
	stats, err := g.Fill(members, all)
	if err != nil {
		t.Fatal(err)
	}
	out, any, valid := make([][]float64, len(members)), false, 0
	for i, m := range members {
		if m.NoAdvantage != training.NoAdvantageFailed && m.NoAdvantage != training.NoAdvantageUnscored {
			valid++
		}
		if m.Advantage == nil {
			if m.Advantages != nil || m.NoAdvantage == "" {
				t.Fatalf("member %d has no advantage: %q, and those of messages: %v", i, m.NoAdvantage, m.Advantages)
			}
			out[i] = []float64{math.NaN()}
			continue
		}
		any = true
		out[i] = append(out[i], *m.Advantage)
		row := formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}
		for _, step := range lengths[i].Steps {
			out[i] = append(out[i], *row.AdvantageOf(int(step.Message)))
		}
	}
	if int(stats.Valid) != valid || int(stats.Count) != len(members) {
		t.Fatalf("%d of %d members are valid, not %d of %d", stats.Valid, stats.Count, valid, len(members))
	}
	if !any {
		return nil
	}
	return out
}

// equal compares to the last bit; NaN is equal to NaN.
func equal(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}
