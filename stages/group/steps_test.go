package group_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/random"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
)

// stepped returns random trajectories of several turns, most with shaped rewards.
func stepped() (rows []formats.Trajectory, steps [][]int) {
	for g := range random.Trajectories(5, random.Options{Groups: 12, Generations: 4, Messages: 9, SampledTokens: 5, PromptTokens: 5, Scored: true,
		Branches: 0.3, Failures: 0.1}) {
		rows = append(rows, g...)
	}
	for i := range rows {
		t := &rows[i]
		t.ShapedRewards = nil
		var sampled []int
		for _, m := range t.Main() {
			if t.Messages[m].Sampled {
				sampled = append(sampled, m)
				t.ShapedRewards = append(t.ShapedRewards, float64((i+m)%5)/4)
			}
		}
		if i%7 == 0 {
			t.ShapedRewards = nil
		}
		steps = append(steps, sampled)
	}
	return rows, steps
}

// TestSteps: each sampled message of the main path has an advantage, the same in any
// number of shards and parts.
func TestSteps(t *testing.T) {
	rows, steps := stepped()
	for _, name := range []string{"turns", "gigpo"} {
		var want []formats.Member
		for _, shards := range []int{1, 3} {
			in := stored(t, "import", rows, shards)
			o := options(in, in+"-"+name)
			o.Estimator.Name = name
			out, _ := grouped(t, o, shards)
			got := rowsOf[formats.Member](t, out, "")
			if shards == 1 {
				want = got
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s in %d shards: -1 +%[2]d: %s", name, shards, d)
			}
		}
		own := map[string]float64{} // what first messages have beyond their trajectory's, summed by group
		for i, m := range want {
			if m.Advantage == nil {
				if m.Advantages != nil {
					t.Errorf("%s: %s has no advantage, and its messages have", name, m.TrajectoryID)
				}
				continue
			}
			var messages []int
			for _, a := range m.Advantages {
				messages = append(messages, int(a.Message))
			}
			if len(messages) > 0 && !slices.IsSorted(messages) || slices.ContainsFunc(messages, func(at int) bool { return !slices.Contains(steps[i], at) }) {
				t.Errorf("%s: %s has advantages of messages %v, and sampled %v", name, m.TrajectoryID, messages, steps[i])
			}
			if row := (formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}); len(steps[i]) > 0 {
				own[m.GroupID] += *row.AdvantageOf(steps[i][0]) - *m.Advantage
			}
		}
		for id, sum := range own { // all answer the same prompt
			if math.Abs(sum) > 1e-6 {
				t.Errorf("%s: the first messages of group %s have %v together", name, id, sum)
			}
		}
	}
}

// TestStepsAreRefused where their rewards are not one for each, where rows are
// scattered, and where they are to be computed again.
func TestStepsAreRefused(t *testing.T) {
	rows, _ := stepped()
	at := slices.IndexFunc(rows, func(t formats.Trajectory) bool { return t.ShapedRewards != nil && t.Status == formats.StatusOK })
	rows[at].ShapedRewards = append(rows[at].ShapedRewards, 1)
	in := stored(t, "import", rows, 1)
	o := options(in, in+"-turns")
	o.Estimator.Name = "turns"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "shaped rewards, and") || !strings.Contains(err.Error(), rows[at].TrajectoryID) {
		t.Error(err)
	}
	rows, _ = stepped()
	slices.SortStableFunc(rows, func(a, b formats.Trajectory) int { return int(a.Generation - b.Generation) })
	in = stored(t, "import", rows, 1)
	o.In.URI, o.Out.URI = in, in+"-turns"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not adjacent") {
		t.Error(err)
	}
	if _, err := group.Recompute(estimators.All, formats.GroupState{Estimator: "turns"}); err == nil || !strings.Contains(err.Error(), "leave --recompute out") && !strings.Contains(err.Error(), "not read again") {
		t.Error(err)
	}
}
