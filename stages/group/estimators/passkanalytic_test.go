package estimators_test

import (
	"math"
	"math/bits"
	"testing"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestPassKAnalytic(t *testing.T) {
	estimatortest.Run(t, estimators.PassKAnalytic)
	estimatortest.Vectors(t, estimators.PassKAnalytic)
}

// The closed form is what the mean over all draws gives: each member's advantage is
// that of the draws that it is in.
func TestPassKAnalyticIsTheMeanOverDraws(t *testing.T) {
	for k := 1; k <= 6; k++ {
		e, err := (&estimators.PassKAnalyticSettings{K: k}).Estimator(group.Setup{Compat: group.CompatNone, Solved: 1})
		if err != nil {
			t.Fatal(err)
		}
		g := group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
		for set := range 1 << 6 {
			rewards, sums, draws := make([]float64, 6), make([]float64, 6), 0.0
			for i := range rewards {
				rewards[i] = float64(set >> i & 1)
			}
			passed, of := 0.0, 0.0
			for draw := range 1 << 6 {
				if bits.OnesCount(uint(draw)) != k {
					continue
				}
				won := min(1, float64(draw&set))
				passed, of = passed+won, of+1
				for i := range sums {
					sums[i] += won * float64(draw>>i&1)
				}
				draws += float64(draw & 1)
			}
			pass := passed / of
			members := estimatortest.Members(rewards)
			if _, err := g.Fill(members, nil); err != nil {
				t.Fatal(err)
			}
			for i, m := range members {
				want := (sums[i]/draws - pass) / (math.Sqrt(pass*(1-pass)) + 1e-6)
				if math.Abs(*m.Advantage-want) > 1e-9 {
					t.Errorf("k %d, %v: member %d has %v, its draws have %v", k, rewards, i, *m.Advantage, want)
				}
			}
		}
	}
}

func TestPassKAnalyticOfSmallGroups(t *testing.T) {
	if _, err := (&estimators.PassKAnalyticSettings{}).Estimator(group.Setup{Compat: group.CompatNone}); err == nil {
		t.Error("--pass-k 0 is accepted")
	}
	e, _ := (&estimators.PassKAnalyticSettings{K: 4}).Estimator(group.Setup{Compat: group.CompatNone, Solved: 0.5})
	g := group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
	for n, want := range map[int]bool{3: false, 4: true} {
		members := estimatortest.Members([]float64{0.5, 0, 0, 0}[:n])
		if _, err := g.Fill(members, nil); err != nil || (members[0].Advantage != nil) != want {
			t.Errorf("%d members have an advantage: %v, %v", n, !want, err)
		}
	}
}
