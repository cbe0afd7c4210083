package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/storage/fault"
)

// rollouts writes groups of four trajectories.
func rollouts(t *testing.T, uri string, n int) *dataset.Dataset {
	var groups [][]formats.Trajectory
	for e := range n {
		var g []formats.Trajectory
		for k := range 4 {
			id := fmt.Sprint("example-", e)
			g = append(g, formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", id, 0, k), ExampleID: id, Generation: int32(k), Run: "run",
				Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Answer: fmt.Sprintf("answer %d of %s", k, id)})
		}
		groups = append(groups, g)
	}
	return looktest.Write(t, uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"n": n}}, groups, -1)
}

var null = math.NaN()

// scores writes scores of rollouts; NaN is null.
func scores(t *testing.T, uri string, base *dataset.Dataset, values ...[]float64) {
	var groups [][]formats.Score
	for e, g := range values {
		var rows []formats.Score
		for k := range g {
			id := fmt.Sprint("example-", e)
			s := formats.Score{TrajectoryID: formats.TrajectoryID("run", id, 0, k), ExampleID: id, Generation: int32(k), Status: outcomes.StatusOK,
				Reward: &g[k], Failure: ""}
			half := g[k] / 2
			s.Rewards = []formats.NamedReward{{Name: "half", Weight: 2, Value: &half}}
			if math.IsNaN(g[k]) {
				s.Reward, s.Failure, s.Rewards[0].Value, s.Rewards[0].Failure = nil, outcomes.RewardTimeout, nil, outcomes.RewardTimeout
			}
			rows = append(rows, s)
		}
		groups = append(groups, rows)
	}
	ref := base.Ref("base", uri)
	looktest.Write(t, uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Params: map[string]any{"uri": uri}, Inputs: []manifest.Ref{ref},
		Base: &ref}, groups, 0)
}

func TestDiff(t *testing.T) {
	base := rollouts(t, "mem://diff/rollout", 5)
	scores(t, "mem://diff/a", base, []float64{0, 1, 0, 1}, []float64{1, 1, 1, 1}, []float64{0, 2, 4, null}, []float64{0, 0, 0, 1},
		[]float64{null, null, null, null})
	scores(t, "mem://diff/b", base, []float64{1, 0, 0, 1}, []float64{1, 1, 1, 0}, []float64{0, 2, null, 3}, []float64{5, 5, 5, 5},
		[]float64{null, null, null, null})
	for _, name := range []string{"", "half"} {
		d, err := Diff(t.Context(), DiffOptions{A: "mem://diff/a", B: "mem://diff/b", Reward: name, Movers: 3})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(d.Rows, d.Compared, d.Moved, d.Up, d.Down, d.Gained, d.Lost, d.Neither, d.LostTo, d.Groups, d.FlatA, d.FlatB, d.BecameFlat,
			d.StoppedFlat, d.SignFlipped, d.SignToZero, d.SignFrom0)
		// Group 0: two advantages swap. Group 1: 0 0 0 0 to + + + -. Group 2: of -, 0
		// the middle one becomes + (mean 2 to 5/3). Group 3: - - - + to 0.
		if want := "20 14 7 5 2 1 1 4 map[timeout:1] 5 1 1 1 1 2 4 5"; got != want {
			t.Errorf("%q: got  %s\nwant %s", name, got, want)
		}
		if got, want := fmt.Sprint(d.MovedRows, d.GainedRows, d.LostRows), "[0 1 7 12 13 14 15] [11] [10]"; got != want {
			t.Errorf("%q: rows %s, want %s", name, got, want)
		}
		factor := map[string]float64{"": 1, "half": 0.5}[name]
		if len(d.Movers) != 3 || d.Movers[0].Row != 12 || d.Movers[2].Row != 14 || d.Movers[0].Answer != "answer 0 of example-3" || d.Movers[0].B != 5*factor {
			t.Errorf("movers %+v", d.Movers)
		}
		var text bytes.Buffer
		if err := d.WriteText(&text); err != nil || !strings.Contains(text.String(), "1 became flat, 1 stopped being flat") ||
			!strings.Contains(text.String(), "answer 0 of example-3") {
			t.Errorf("%v\n%s", err, &text)
		}
	}
	same, err := Diff(t.Context(), DiffOptions{A: "mem://diff/a", B: "mem://diff/a", Movers: 3})
	if err != nil || same.Moved != 0 || *same.Spearman < 1-1e-12 || len(same.Movers) != 0 || same.SignFlipped+same.SignToZero+same.SignFrom0 != 0 {
		t.Errorf("a dataset differs from itself: %+v, %v", same, err)
	}
}

// grouped writes groups with these advantages; NaN is null.
func grouped(t *testing.T, uri string, base *dataset.Dataset, values ...[]float64) {
	var groups [][]formats.Member
	for e, g := range values {
		var rows []formats.Member
		for k := range g {
			id := fmt.Sprint("example-", e)
			m := formats.Member{TrajectoryID: formats.TrajectoryID("run", id, 0, k), ExampleID: id, GroupID: formats.GroupID(id, 0), Generation: int32(k),
				Status: outcomes.StatusOK, Advantage: &g[k]}
			if math.IsNaN(g[k]) {
				m.Advantage, m.NoAdvantage = nil, training.NoAdvantageSingleton
			}
			rows = append(rows, m)
		}
		groups = append(groups, rows)
	}
	ref := base.Ref("base", uri)
	looktest.Write(t, uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups, Params: map[string]any{"uri": uri}, Inputs: []manifest.Ref{ref},
		Base: &ref}, groups, 0)
}

// TestDiffOfGroups: the advantages of two estimators are compared, by their own signs.
func TestDiffOfGroups(t *testing.T) {
	base := rollouts(t, "mem://diff-groups/rollout", 4)
	grouped(t, "mem://diff-groups/a", base, []float64{1, -1, 1, -1}, []float64{0, 0, 0, 0}, []float64{2, 1e-15, -1, -1}, []float64{null, null, null, 0})
	grouped(t, "mem://diff-groups/b", base, []float64{2, -2, -2, 2}, []float64{1, 1, 1, 0}, []float64{2, 0, 0, 0}, []float64{null, 1, null, null})
	d, err := Diff(t.Context(), DiffOptions{A: "mem://diff-groups/a", B: "mem://diff-groups/b", Movers: 1, Solved: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(d.Compared, d.Moved, d.Gained, d.Lost, d.LostTo, d.Groups, d.FlatA, d.FlatB, d.BecameFlat, d.StoppedFlat, d.SignFlipped, d.SignToZero,
		d.SignFrom0, d.Flipped, len(d.Movers))
	if want := "12 10 1 1 map[singleton:1] 4 2 0 0 2 2 2 3 0 1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDiffRefusesIncomparable(t *testing.T) {
	base, other := rollouts(t, "mem://diff-no/rollout", 1), rollouts(t, "mem://diff-no/other", 2)
	scores(t, "mem://diff-no/a", base, []float64{0, 1, 0, 1})
	grouped(t, "mem://diff-no/g", base, []float64{0, 1, 0, 1})
	scores(t, "mem://diff-no/b", other, []float64{0, 1, 0, 1}, []float64{0, 1, 0, 1})
	for want, o := range map[string]DiffOptions{
		"is not about the trajectories that": {A: "mem://diff-no/a", B: "mem://diff-no/b"},
		"holds trajectories, not":            {A: "mem://diff-no/a", B: "mem://diff-no/rollout"},
		"it holds groups, and":               {A: "mem://diff-no/a", B: "mem://diff-no/g"},
		`has a reward "whole"`:               {A: "mem://diff-no/a", B: "mem://diff-no/a", Reward: "whole"},
	} {
		if _, err := Diff(t.Context(), o); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %q", err, want)
		}
	}
}

// TestDiffOfSignals: of messages that have the component on both sides.
func TestDiffOfSignals(t *testing.T) {
	base := rollouts(t, "mem://diff-signals/rollout", 1)
	signals := func(name string, of ...[]formats.Signal) string {
		uri := "mem://diff-signals/" + name
		var rows []formats.Score
		for k := range of {
			rows = append(rows, formats.Score{TrajectoryID: formats.TrajectoryID("run", "example-0", 0, k), ExampleID: "example-0", Generation: int32(k),
				Status: outcomes.StatusOK, Reward: new(float64), Signals: of[k]})
		}
		ref := base.Ref("base", uri)
		looktest.Write(t, uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Params: map[string]any{"uri": uri}, Inputs: []manifest.Ref{ref},
			Base: &ref}, [][]formats.Score{rows}, 0)
		return uri
	}
	a := signals("a", []formats.Signal{{Message: 1, Component: "x", Value: 1}, {Message: 3, Component: "x", Value: 2}, {Message: 1, Component: "y", Value: 5}}, nil,
		[]formats.Signal{{Message: 1, Component: "x", Value: 4}}, []formats.Signal{{Message: 1, Component: "only a", Value: 4}})
	b := signals("b", []formats.Signal{{Message: 3, Component: "x", Value: 2}, {Message: 1, Component: "x", Value: 4}, {Message: 3, Component: "y", Value: 5}},
		[]formats.Signal{{Message: 1, Component: "x", Value: 9}}, []formats.Signal{{Message: 1, Component: "x", Value: 1, Values: []float32{1}}}, nil)
	d, err := Diff(t.Context(), DiffOptions{A: a, B: b})
	if err != nil || len(d.Signals) != 1 || d.Signals[0] != (SignalChange{Component: "x", Messages: 3, Moved: 2, MeanChange: 0}) {
		t.Fatalf("%v %+v", err, d)
	}
	d, err = Diff(t.Context(), DiffOptions{A: a, B: signals("c", []formats.Signal{{Message: 1, Component: "x", Value: 2}}, nil, nil, nil)})
	var text bytes.Buffer
	if err == nil {
		err = d.WriteText(&text)
	}
	if err != nil || !strings.Contains(text.String(), "1 of 1 messages moved, mean change +1\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestSort lists the changed rows by a column, where the query's condition is true.
func TestSort(t *testing.T) {
	root := "mem://diff-sort/"
	base := rollouts(t, root+"rollout", 3)
	scores(t, root+"a", base, []float64{0, 1, 2, 3}, []float64{4, 5, 6, 7}, []float64{null, 9, 10, 11})
	scores(t, root+"b", base, []float64{0, 8, 3, 4}, []float64{5, 6, 6, 9}, []float64{1, null, 11, 30})
	for _, c := range []struct {
		where, sort string
		desc        bool
		rows        string
	}{
		{"", "", false, "[11 1 7 2]"}, // those that changed most
		{"", "", true, "[11 1 7 2]"},
		{"", "reward", false, "[1 2 3 4]"},
		{"", "-reward", false, "[11 10 7 5]"},
		{"", "reward", true, "[11 10 7 5]"},
		{"generation != 3", "generation", true, "[2 10 1 5]"},
		{"generation == 0", "reward", false, "[4]"},
	} {
		q, err := query.Parse(c.where, c.sort, c.desc)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Diff(t.Context(), DiffOptions{A: root + "a", B: root + "b", Movers: 4, Solved: 1, Query: q})
		if err != nil {
			t.Fatal(err)
		}
		var rows []int64
		for _, m := range d.Movers {
			if rows = append(rows, m.Row); m.Answer != fmt.Sprintf("answer %d of example-%d", m.Row%4, m.Row/4) {
				t.Errorf("row %d: %+v", m.Row, m)
			}
		}
		if got := fmt.Sprint(rows); got != c.rows {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestFlips: a reward of now is compared with the one with which the attempts came. Rows that flipped are listed first, with
// what both verifiers printed; a null on one side is none, and counted with its reason.
func TestFlips(t *testing.T) {
	own := []formats.NamedReward{{Name: formats.AgentReward, Weight: 1, Value: new(1.0)}}
	var group []formats.Trajectory
	var scored []formats.Score
	for k, now := range []float64{0, 1, null, 0.95, 0} {
		id := formats.TrajectoryID("run", "e", 0, k)
		group = append(group, formats.Trajectory{TrajectoryID: id, ExampleID: "e", Generation: int32(k), Run: "run", Example: "{}", Status: outcomes.StatusOK,
			StopReason: outcomes.StopDone, Reward: new(1.0), Rewards: own, Artifacts: []formats.Artifact{{Name: "/logs/agent/log.txt", Content: "busy"},
				{Name: "/logs/verifier/test-stdout.txt", Bytes: 9, Content: fmt.Sprintf("1 passed\nold of %d\n", k)}}})
		v := formats.NamedReward{Name: "v", Weight: 1, Value: &now, Reason: fmt.Sprintf("2 failed\n\x1bnew of %d", k)}
		s := formats.Score{TrajectoryID: id, ExampleID: "e", Generation: int32(k), Status: outcomes.StatusOK, Reward: &now}
		if math.IsNaN(now) {
			s.Reward, s.Failure, v.Value, v.Failure = nil, outcomes.RewardComponent, nil, outcomes.RewardTimeout
		}
		if s.Rewards = []formats.NamedReward{own[0], v}; k == 4 { // the agent gave none
			group[k].Reward, group[k].Rewards, s.Rewards = nil, nil, s.Rewards[1:]
		}
		scored = append(scored, s)
	}
	base := looktest.Write(t, "mem://flips/rollout", manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, [][]formats.Trajectory{group}, -1)
	ref := base.Ref("base", "mem://flips/score")
	looktest.Write(t, "mem://flips/score", manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref},
		[][]formats.Score{scored}, 0)
	for name, o := range map[string]DiffOptions{
		"the rollout's": {A: "mem://flips/rollout", B: "mem://flips/score", Reward: formats.AgentReward, RewardB: "v"},
		"in one":        {A: "mem://flips/score", B: "mem://flips/score", Reward: formats.AgentReward, RewardB: "v"},
		"totals":        {A: "mem://flips/rollout", B: "mem://flips/score"},
	} {
		o.Solved, o.Movers = 1, 10
		d, err := Diff(t.Context(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		lost := map[bool]string{true: outcomes.RewardComponent, false: outcomes.RewardTimeout}[o.Reward == ""]
		if d.Compared != 3 || d.FlippedRows != 2 || d.LostTo[lost] != 1 || len(d.GainedFrom) != 1 || d.Gained != 1 {
			t.Errorf("%s: %d of %d flipped, lost to %v, gained from %v", name, d.FlippedRows, d.Compared, d.LostTo, d.GainedFrom)
		}
		if m := d.Movers; len(m) != 2 || m[0].B != 0 || m[1].B != 0.95 || m[0].OutputA != group[0].Artifacts[1].Content || m[1].OutputB != scored[3].Rewards[1].Reason {
			t.Errorf("%s: %+v", name, m)
		}
		var text strings.Builder
		if err := d.WriteText(&text); err != nil || !strings.Contains(text.String(), "2 of 3: solved on one side only") ||
			!strings.Contains(text.String(), "old of 3  | ") || strings.Contains(text.String(), "\x1b") || strings.Contains(text.String(), "busy") {
			t.Errorf("%s: %v\n%s", name, err, &text)
		}
	}
	if _, err := Diff(t.Context(), DiffOptions{A: "mem://flips/rollout", B: "mem://flips/score", RewardB: "w"}); err == nil || !strings.Contains(err.Error(), `reward "w"`) {
		t.Errorf("%v", err)
	}
}
