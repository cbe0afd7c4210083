package curate_test

import (
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// The last step of GDPO, by hand, as each trainer scales it.
func TestCentredStep(t *testing.T) {
	rewards := [][]float64{{0, 1}, {10, 14}} // distances -0.5 0.5 and -2 2
	for name, c := range map[string]struct {
		step training.BatchStep
		std  float64
	}{
		"TRL":     {training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true, Epsilon: 1e-4}, math.Sqrt(8.5/3) + 1e-4},
		"NeMo-RL": {training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true}, math.Sqrt(8.5 / 3)},
		"none":    {training.BatchStep{Of: training.BatchAdvantages, Center: true, Epsilon: 1e-6}, math.Sqrt(8.5/4) + 1e-6},
	} {
		t.Run(name, func(t *testing.T) {
			in := stepped(t, 0, &c.step, rewards, 3) // which centring takes away
			_, d := run(t, options(in, in+"-curate"))
			for i, r := range readAll[formats.Trajectory](t, d, "") {
				if want := []float64{-0.5, 0.5, -2, 2}[i] / c.std; math.Abs(*r.Advantage-want) > 1e-12 {
					t.Errorf("row %d: %v, want %v", i, *r.Advantage, want)
				}
			}
		})
	}
	flat := stepped(t, 1, &training.BatchStep{Of: training.BatchAdvantages, Center: true, Sample: true}, [][]float64{{3, 3}, {1, 1}})
	o := options(flat, flat+"-curate")
	ask(o, "keep-flat", true)
	_, d := run(t, o)
	for _, r := range readAll[formats.Trajectory](t, d, "") {
		if *r.Advantage != 0 {
			t.Errorf("a batch without differences has the advantage %v", *r.Advantage)
		}
	}
}
