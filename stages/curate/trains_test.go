package curate_test

import (
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/curate"
)

// TestFlatIsWhatIsHandedOver: rewards that are equal may train (gdpo), and rewards that
// differ may not (passk). Advantages of messages and tokens count, and the batch's step.
func TestFlatIsWhatIsHandedOver(t *testing.T) {
	rewards := [][]float64{{1, 1}, {0, 1}, {2, 2}, {3, 4}, {5, 5}, {6, 7}, {8, 9}}
	own := map[string]float64{"a": .5, "f": 2e-10, "g": 1e-9}
	edit := func(m *formats.Member) {
		*m.Advantage = own[m.ExampleID]
		switch m.ExampleID {
		case "c":
			m.Advantages = []training.MessageAdvantage{{Message: 1, Value: -.25}}
		case "d":
			m.Advantages = []training.MessageAdvantage{{Message: 1, Tokens: []float32{.5, -.5}}}
		case "e":
			m.Losses = []training.MessageLoss{{Message: 1, Loss: training.LossCE, Weight: .1}}
		}
	}
	for n, c := range []struct {
		step *training.BatchStep
		kept string
	}{
		{nil, "a0 a1 c0 c1 d0 d1 e0 e1 g0 g1"},
		// what is centred is not 0, and the groups of 0 are not at the mean
		{&training.BatchStep{Of: training.BatchAdvantages, Center: true, Epsilon: 1e-6}, "a0 a1 b0 b1 c0 c1 d0 d1 e0 e1 f0 f1 g0 g1"},
	} {
		in := edited(t, n, c.step, rewards, edit)
		o := options(in, in+"-curate")
		o.PlanTable.Generations = 2
		_, d := run(t, o)
		if got := kept(t, d); got != c.kept {
			t.Errorf("%v: kept %s, want %s", c.step, got, c.kept)
		}
		for _, p := range readAll[decision.Planned](t, d, schema.TablePlan) {
			if c.step != nil || p.Reason != "flat" || p.ExampleID != "b" && p.ExampleID != "f" {
				t.Errorf("planned %+v", p)
			}
		}
	}
}

// TestFlatOfWhatIsLeft is by the advantages that are handed over too: as they were, or
// computed again.
func TestFlatOfWhatIsLeft(t *testing.T) {
	in := stepped(t, 0, nil, [][]float64{{1, 1, 0}, {0, 1, 2}})
	o := options(in, in+"-curate")
	ask(o, "filter", "trajectory.reward > 0")
	if _, d := run(t, o); kept(t, d) != "a0 a1 b1 b2" {
		t.Errorf("kept %s", kept(t, d))
	}
	o.Out.URI, o.Recompute = in+"-again", true
	o.Recomputer = func(training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error) {
		return func(members []formats.Member, _ []formats.Trajectory) error {
			mean := 0.0
			for _, m := range members {
				mean += *m.Reward / float64(len(members))
			}
			for i := range members {
				members[i].Advantage = new(*members[i].Reward - mean)
			}
			return nil
		}, nil
	}
	if _, d := run(t, o); kept(t, d) != "b1 b2" || d.Drops["flat"] != 2 {
		t.Errorf("kept %s, dropped %v", kept(t, d), d.Drops)
	}
}

func TestFlatWithoutAdvantages(t *testing.T) {
	set := curate.Group{Valid: 2, Min: 1, Max: 1}
	if set.Trains = training.TrainsSomething; set.Flat(0) {
		t.Error("equal rewards with advantages")
	}
	if set.Trains = training.TrainsByRewards; !set.Flat(0) {
		t.Error("equal rewards without advantages")
	}
	if set.Min = math.Nextafter(1, 0); set.Flat(0) || !set.Flat(1e-12) {
		t.Error("the tolerance")
	}
}
