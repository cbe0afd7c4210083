package monitors

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/stages"
)

func TestScalars(t *testing.T) {
	epoch := 3
	f := Figures{Report: &stages.Report{
		Stage: "score", Rows: 10, Seconds: 2, Counts: map[string]int64{"scored": 4, "unscored": 6}, Drops: map[string]int64{"flat": 1},
		Failures: map[string]int64{"timeout": 2},
		Facts: map[string]float64{"reward_sum": 2, "rewards.a.sum": 9, "rewards.a.scored": 3, "rewards.b.sum": 1, "rewards.b.scored": 0,
			"sampled_tokens": 50, "judge.cost": math.NaN()},
	}}
	f.Epoch, f.Validation = &epoch, true
	got := map[string]float64{}
	for _, s := range f.Scalars() {
		got[s.Name] = s.Value
	}
	want := map[string]float64{
		"validation/score/rows": 10, "validation/score/seconds": 2, "validation/score/scored": 4, "validation/score/unscored": 6,
		"validation/score/drops/flat":       1,
		"validation/score/failures/timeout": 2, "validation/score/reward": 0.5, "validation/score/rewards/a": 3, "validation/score/sampled_tokens": 50,
		"validation/score/tokens_per_row": 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f.Step() != 3 || !f.Whole() {
		t.Errorf("step %d, whole %v", f.Step(), f.Whole())
	}
	f.Report = &stages.Report{Stage: "curate", UpToDate: true, Seconds: 1, Counts: map[string]int64{"kept": 1, "dropped": 3},
		Facts: map[string]float64{"kept_reward_sum": 7}, Missing: []int{1}}
	f.Validation = false
	got = map[string]float64{}
	for _, s := range f.Scalars() {
		got[s.Name] = s.Value
	}
	want = map[string]float64{"curate/rows": 0, "curate/kept": 1, "curate/dropped": 3, "curate/kept_share": 0.25, "curate/kept_reward": 7}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f.Whole() {
		t.Error("one of two shards is the whole stage")
	}
}
