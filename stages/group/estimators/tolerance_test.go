package estimators_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

// TestEveryEstimatorHearsTheTolerance: rewards that are equal by it give no advantages, in
// groups, parts of them, components, and steps.
func TestEveryEstimatorHearsTheTolerance(t *testing.T) {
	for _, name := range []string{"grpo", "drgrpo", "rloo", "gdpo", "tree", "hierarchical", "turns", "gigpo"} {
		for _, compat := range []group.Compat{group.CompatNone, group.CompatNemoRL, group.CompatVerl} {
			kind, err := estimators.All.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			e, err := kind.Make(kind.New(), group.Setup{Compat: compat})
			if err != nil {
				continue // it has no such compat
			}
			members := estimatortest.Members([]float64{1, 1.02, .99, 1})
			lengths := make([]group.Length, len(members))
			for i := range lengths {
				lengths[i] = group.Length{SampledTokens: 9, Part: "one", Steps: []group.Step{{Message: 1, Tokens: 9}}}
			}
			if _, err := (&group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: .5}}).Fill(members, lengths); err != nil {
				t.Fatal(name, err)
			}
			var size training.AdvantageSize
			for _, m := range members {
				size.Add(m.Advantage, m.Advantages, m.Losses)
			}
			if size.After(0, 1) != 0 || !size.Own {
				t.Errorf("%s, compat %s: %+v", name, compat, size)
			}
		}
	}
}

// TestLengthIsNeverPaidFor: below a mean of 0 length does not count.
func TestLengthIsNeverPaidFor(t *testing.T) {
	e, err := (&estimators.GRPOSettings{LengthPenalty: .25}).Estimator(group.Setup{Compat: group.CompatNone})
	if err != nil {
		t.Fatal(err)
	}
	members := estimatortest.Members([]float64{-1, -1, -1, -.5})
	lengths := []group.Length{{SampledTokens: 10}, {SampledTokens: 40}, {SampledTokens: 80}, {SampledTokens: 80}}
	if _, err := (&group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}).Fill(members, lengths); err != nil {
		t.Fatal(err)
	}
	if a, b, c := *members[0].Advantage, *members[1].Advantage, *members[2].Advantage; a != b || b != c {
		t.Errorf("equal rewards have advantages %v, %v and %v", a, b, c)
	}
}
