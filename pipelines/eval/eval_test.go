package eval

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/storage/fault"
)

func some(values ...float64) *example {
	e := &example{}
	for _, v := range values {
		if math.IsNaN(v) {
			e.rewards = append(e.rewards, nil)
			continue
		}
		e.rewards = append(e.rewards, &v)
	}
	return e
}

var null = math.NaN()

// TestFigures compares with figures computed by hand: the examples' means are 0.5,
// 1 and 0, so the mean is 0.5, their standard deviation 0.5, and Student's
// t(0.975, 2) = 4.302653.
func TestFigures(t *testing.T) {
	examples := []*example{some(0, 1, 0, 1), some(1, 1, null, 1), some(0, 0)}
	examples[1].failed = 1
	o := MeasureOptions{Solved: 1, Confidence: 0.95}
	o.K = o.ks(examples)
	f := figures(examples, o)
	half := 4.302652729911275 * 0.5 / math.Sqrt(3)
	near(t, "mean", f.Mean.Value, 0.5)
	near(t, "low of a rate", *f.Mean.Low, 0)
	near(t, "high of a rate", *f.Mean.High, 1)
	doubled := figures([]*example{some(0, 2, 0, 2), some(2, 2, null, 2), some(0, 0)}, o)
	near(t, "low", *doubled.Mean.Low, 1-2*half)
	near(t, "high", *doubled.Mean.High, 1+2*half)
	near(t, "solved low", *f.Solved.Low, 0) // a share
	near(t, "std", *f.Std, math.Sqrt(20.0/72))
	near(t, "within", *f.Within, math.Sqrt(1.0/3)/3)
	if f.Examples != 3 || f.Trajectories != 10 || f.Failed != 1 || f.Unscored != 0 || *f.Min != 0 || *f.Max != 1 {
		t.Errorf("%+v", f)
	}
	// pass@2: 1 - C(2,2)/C(4,2) = 5/6, 1 and 0. pass@4: 1 alone, of 4 attempts.
	if len(f.PassAtK) != 3 || f.PassAtK[1].K != 2 || f.PassAtK[2].LeftOut != 2 || f.PassAtK[2].Value != 1 || f.PassAtK[2].Low != nil {
		t.Errorf("%+v", f.PassAtK)
	}
	near(t, "pass@1", f.PassAtK[0].Value, 0.5)
	near(t, "pass@2", f.PassAtK[1].Value, (5.0/6+1)/3)
	o = MeasureOptions{Solved: 1, Confidence: 0.95, FailuresCount: true, K: []int{4, 3, 3}}
	o.K = o.ks(examples)
	f = figures(examples, o)
	if len(f.PassAtK) != 2 || f.PassAtK[1].LeftOut != 1 {
		t.Errorf("%+v", f.PassAtK)
	}
	near(t, "solved with failures", f.Solved.Value, (0.5+0.75)/3)
	near(t, "mean with failures", f.Mean.Value, 0.5)
	if none := figures(nil, MeasureOptions{Confidence: 0.95}); none.Mean != nil || none.Std != nil || none.PassAtK != nil {
		t.Errorf("of nothing: %+v", none)
	}
}

// TestCertainRates checks that a rate which is the same in every example has an interval of
// Wilson's, and that equal rewards have no spread.
func TestCertainRates(t *testing.T) {
	var all []*example
	for range 12 {
		all = append(all, some(1, 1))
	}
	o := MeasureOptions{Solved: 1, Confidence: 0.95, K: []int{2}}
	f := figures(all, o)
	for what, e := range map[string]*Estimate{"mean": f.Mean, "solved": f.Solved, "pass@2": &f.PassAtK[0].Estimate} {
		near(t, what+" low", *e.Low, 12/(12+1.959963984540054*1.959963984540054))
		near(t, what+" high", *e.High, 1)
	}
	for _, e := range all {
		e.rewards = some(0.1, 0.1, 0.1).rewards
	}
	if f = figures(all, o); *f.Std != 0 || *f.Within != 0 {
		t.Errorf("the spread of equal rewards is %v and %v", *f.Std, *f.Within)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestPassAtKMatchesEnumeration checks that pass@k is the share of all draws of k
// of n attempts that contain a solved one.
func TestPassAtKMatchesEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		solved := rapid.IntRange(0, 1<<n-1).Draw(t, "solved")
		e := &example{}
		for i := range n {
			v := float64(solved >> i & 1)
			e.rewards = append(e.rewards, &v)
		}
		draws, hits := 0, 0
		for set := range 1 << n {
			if ones(set) == k {
				if draws++; set&solved != 0 {
					hits++
				}
			}
		}
		got := figures([]*example{e}, MeasureOptions{Solved: 1, Confidence: 0.9, K: []int{k}}).PassAtK[0].Value
		if want := float64(hits) / float64(draws); math.Abs(got-want) > 1e-12 {
			t.Fatalf("pass@%d of %d, solved %b: %v, want %v", k, n, solved, got, want)
		}
	})
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

// measured writes trajectories and scores: three examples of two levels, one
// attempt failed and one unscored.
func measured(t *testing.T, root string) {
	t.Helper()
	rewards := [][]float64{{1, 0}, {1, 1}, {null, 0.5}}
	var rows [][]formats.Trajectory
	var scores [][]formats.Score
	for e, g := range rewards {
		var attempts []formats.Trajectory
		var scored []formats.Score
		for k := range g {
			id := fmt.Sprint("e", e)
			attempts = append(attempts, formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", id, 0, k), ExampleID: id, Generation: int32(k), Run: "run",
				Model: "policy", Example: fmt.Sprintf(`{"task":{"level":%d},"kind":%q}`, e%2, []string{"short", "long", "short"}[e]),
				Status: outcomes.StatusOK, StopReason: outcomes.StopDone})
			s := formats.Score{Reward: &g[k], Rewards: []formats.NamedReward{{Name: "a", Weight: 1, Value: &g[k]}, {Name: "b", Weight: 0, Value: new(float64)}}}
			if math.IsNaN(g[k]) {
				s.Reward, s.Failure, s.Rewards[0].Value, s.Rewards[0].Failure = nil, outcomes.RewardTimeout, nil, outcomes.RewardTimeout
			}
			scored = append(scored, s)
		}
		rows, scores = append(rows, attempts), append(scores, scored)
	}
	writeScored(t, root, nil, nil, rows, scores)
}

// writeScored writes a rollout and its scores, which have the rows' names.
func writeScored(t *testing.T, root string, params, scoreParams map[string]any, rows [][]formats.Trajectory, scores [][]formats.Score) {
	t.Helper()
	for e := range rows {
		for k, r := range rows[e] {
			s := &scores[e][k]
			s.TrajectoryID, s.ExampleID, s.Generation, s.Status = r.TrajectoryID, r.ExampleID, r.Generation, r.Status
		}
	}
	base := looktest.Write(t, root+"/rollout", manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: params}, rows, -1)
	ref := base.Ref("base", root+"/score")
	looktest.Write(t, root+"/score", manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref,
		Params: scoreParams}, scores, 0)
}

func TestMeasure(t *testing.T) {
	measured(t, "mem://measure")
	r, err := Measure(t.Context(), "mem://measure/score", MeasureOptions{Solved: 1, Slices: []string{"task.level", "kind"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "policy" || r.Unscored != 1 || r.Failed != 0 || r.Mean.Examples != 3 || len(r.Rewards) != 2 || r.Rewards["a"].Unscored != 1 ||
		r.Rewards["b"].Mean.Value != 0 {
		t.Errorf("%+v", r)
	}
	got := ""
	for _, e := range r.ByExample {
		got += fmt.Sprintf("%s %d/%d; ", e.ID, e.Solved, e.Attempts)
	}
	if want := "e0 1/2; e1 2/2; e2 0/1; "; got != want {
		t.Errorf("examples %s, want %s", got, want)
	}
	got = ""
	for _, s := range r.Slices {
		got += fmt.Sprintf("%s=%s %d %.4g %.4g; ", s.Field, s.Value, s.Examples, s.Mean.Value, s.Figures.Solved.Value)
	}
	if want := "task.level=0 2 0.5 0.25; task.level=1 1 1 1; kind=long 1 1 1; kind=short 2 0.5 0.25; "; got != want {
		t.Errorf("slices %s, want %s", got, want)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "6 trajectories: 0 failed, 1 without a reward") ||
		!strings.Contains(text.String(), "task.level") {
		t.Errorf("%v\n%s", err, &text)
	}
	for want, o := range map[string]MeasureOptions{"no example has a field": {Slices: []string{"colour"}}, "pass@0": {K: []int{0}},
		"confidence of 2": {Confidence: 2}} {
		_, err := Measure(t.Context(), "mem://measure/score", o)
		var staged *fault.Error
		if !errors.As(err, &staged) || staged.Kind != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %q", err, want)
		}
	}
}
