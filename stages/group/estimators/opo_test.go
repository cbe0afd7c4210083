package estimators_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestOPO(t *testing.T) {
	// They sum to zero over tokens (below).
	estimatortest.Run(t, estimators.OPO, "none", "verl")
	estimatortest.Vectors(t, estimators.OPO)
}

func TestOPOSumsToZeroOverTokens(t *testing.T) {
	e, err := estimators.OPO.Make(estimators.OPO.New(), group.Setup{Compat: group.CompatNone})
	if err != nil {
		t.Fatal(err)
	}
	g := group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		rewards := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), n, n).Draw(t, "rewards")
		lengths := estimatortest.Lengths(n).Draw(t, "lengths")
		members := estimatortest.Members(rewards)
		if _, err := g.Fill(members, lengths); err != nil {
			t.Fatal(err)
		}
		sum, tokens := 0.0, 0.0
		for i, m := range members {
			sum += *m.Advantage * float64(lengths[i].SampledTokens)
			tokens += float64(lengths[i].SampledTokens)
		}
		if math.Abs(sum) > 1e-9*tokens {
			t.Fatalf("%v of lengths %v sum to %v", rewards, lengths, sum)
		}
	})
	r := 1.0
	if _, err := g.Fill(estimatortest.Members([]float64{r, 0}), make([]group.Length, 2)); err == nil {
		t.Error("a group without tokens has advantages")
	}
}
