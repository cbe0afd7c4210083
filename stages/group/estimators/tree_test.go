package estimators_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestTree(t *testing.T) {
	estimatortest.Run(t, estimators.Tree, "verl", "verl/no-scale")
	estimatortest.Vectors(t, estimators.Tree)
}

// TestTreeAloneAddsNothing: without branches a trajectory has what grpo gives it, and in
// one tree of all it has twice that.
func TestTreeAloneAddsNothing(t *testing.T) {
	for _, noScale := range []bool{false, true} {
		setup := group.Setup{Compat: group.CompatNone, NoScale: noScale}
		rewards := []float64{1, 0, 0.25, 0.25}
		want := advantagesOfParts(t, estimators.GRPO, setup, rewards, make([]string, 4))
		if d := cmp.Diff(want, advantagesOfParts(t, estimators.Tree, setup, rewards, []string{"a", "b", "c", "d"})); d != "" {
			t.Error(d)
		}
		for i := range want {
			want[i] *= 2
		}
		if d := cmp.Diff(want, advantagesOfParts(t, estimators.Tree, setup, rewards, make([]string, 4))); d != "" {
			t.Error(d)
		}
	}
}
