package estimators_test

import (
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestLengthPenalty(t *testing.T) {
	penalized := estimators.GRPO
	penalized.New = func() group.EstimatorSettings { return &estimators.GRPOSettings{LengthPenalty: 0.25} }
	estimatortest.Run(t, penalized)
	for _, weight := range []float64{-1, math.NaN(), math.Inf(1)} {
		s := estimators.GRPOSettings{LengthPenalty: weight}
		if _, err := s.Estimator(group.Setup{Compat: group.CompatPrimeRL}); err == nil {
			t.Errorf("--length-penalty %v is accepted", weight)
		}
	}
}

// Among equal rewards the shorter has more, unless nothing is solved.
func TestLengthPenaltyOfFlatGroups(t *testing.T) {
	e, err := (&estimators.GRPOSettings{LengthPenalty: 0.5}).Estimator(group.Setup{Compat: group.CompatPrimeRL})
	if err != nil {
		t.Fatal(err)
	}
	g := group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
	for reward, want := range map[float64]float64{1: 0.125, 0: 0} {
		members := estimatortest.Members([]float64{reward, reward})
		if _, err := g.Fill(members, []group.Length{{SampledTokens: 50}, {SampledTokens: 100}}); err != nil {
			t.Fatal(err)
		}
		if *members[0].Advantage != want || *members[1].Advantage != -want {
			t.Errorf("rewards %v: advantages %v and %v", reward, *members[0].Advantage, *members[1].Advantage)
		}
	}
}
