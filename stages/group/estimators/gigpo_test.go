package estimators_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/estimators/estimatortest"
)

func TestGiGPO(t *testing.T) {
	estimatortest.Run(t, estimators.GiGPO)
	withSignal := estimators.GiGPO
	withSignal.New = func() group.EstimatorSettings {
		s := estimators.GiGPO.New().(*estimators.GiGPOSettings)
		s.Signal = estimatortest.Signal
		return s
	}
	t.Run("by signals", func(t *testing.T) { estimatortest.Run(t, withSignal) })
	data, err := os.ReadFile("../../../testdata/advantages/gigpo.verl.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rewards []float64
			Steps   [][]struct {
				Reward float64
				State  string
			}
			Advantages, Unscaled [][]float64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Groups) == 0 {
		t.Fatal(err)
	}
	for i, g := range file.Groups {
		shaped := make([][]float64, len(g.Steps))
		for k, steps := range g.Steps {
			for _, s := range steps {
				shaped[k] = append(shaped[k], s.Reward)
			}
		}
		for _, noScale := range []bool{false, true} {
			e, err := estimators.GiGPO.Make(estimators.GiGPO.New(), group.Setup{Compat: group.CompatVerl, NoScale: noScale})
			if err != nil {
				t.Fatal(err)
			}
			want := g.Advantages
			if noScale {
				want = g.Unscaled
			}
			got := advantagesOfSteps(t, e, g.Rewards, shaped, func(i, k int) string { return g.Steps[i][k].State })
			if d := cmp.Diff(want, got, near); d != "" {
				t.Errorf("group %d, unscaled %v: -want +got: %s", i, noScale, d)
			}
		}
	}
}
