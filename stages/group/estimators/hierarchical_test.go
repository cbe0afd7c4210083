package estimators_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestHierarchical(t *testing.T) {
	estimatortest.Run(t, estimators.Hierarchical)
	estimatortest.Vectors(t, estimators.Hierarchical)
	for _, by := range []string{"", "metadata.", "no_column"} {
		if _, err := (&estimators.HierarchicalSettings{By: by}).Estimator(group.Setup{Compat: group.CompatNone}); err == nil {
			t.Errorf("by %q is accepted", by)
		}
	}
}

// advantagesOfParts returns the advantages of a group; NaN for null.
func advantagesOfParts(t estimatorT, kind group.EstimatorKind, setup group.Setup, rewards []float64, parts []string) []float64 {
	e, err := kind.Make(kind.New(), setup)
	if err != nil {
		t.Fatal(err)
	}
	members, lengths := estimatortest.Members(rewards), make([]group.Length, len(parts))
	for i, part := range parts {
		lengths[i].Part = part
	}
	if _, err := (&group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}).Fill(members, lengths); err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, m := range members {
		if m.Advantage == nil {
			m.Advantage = new(math.NaN())
		}
		out = append(out, *m.Advantage)
	}
	return out
}

type estimatorT interface{ Fatal(...any) }

// TestPartsAreGroups: each part has what grpo gives it as a group of its own.
func TestPartsAreGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		setup := group.Setup{Compat: rapid.SampledFrom([]group.Compat{group.CompatNone, group.CompatPrimeRL}).Draw(t, "compat"), NoScale: rapid.Bool().Draw(t, "no scale")}
		rewards := rapid.SliceOfN(rapid.Map(rapid.IntRange(-2, 2), func(i int) float64 { return float64(i) / 10 }), 1, 9).Draw(t, "rewards")
		parts := rapid.SliceOfN(rapid.StringMatching("[abc]"), len(rewards), len(rewards)).Draw(t, "parts")
		want := make([]float64, len(rewards))
		for _, part := range []string{"a", "b", "c"} {
			var alone []float64
			for i := range parts {
				if parts[i] == part {
					alone = append(alone, rewards[i])
				}
			}
			if alone == nil {
				continue
			}
			own := advantagesOfParts(t, estimators.GRPO, setup, alone, make([]string, len(alone)))
			for i := range parts {
				if parts[i] == part {
					want[i], own = own[0], own[1:]
				}
			}
		}
		if d := cmp.Diff(want, advantagesOfParts(t, estimators.Hierarchical, setup, rewards, parts), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("%v of %v: -want +got %s", rewards, parts, d)
		}
	})
}
