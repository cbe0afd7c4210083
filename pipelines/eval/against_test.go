package eval

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/pipelines/look/paired"
)

// evaluated writes an eval of a policy, as Run does: for each example the rewards of its
// attempts, null for one that failed; no attempts, no rows.
func evaluated(t *testing.T, root, examples, reward string, rewards [][]float64, calls ...func(example, attempt int) []formats.Call) {
	t.Helper()
	params := map[string]any{"run": root}
	if examples != "" {
		params["examples"] = examples
	}
	var rows [][]formats.Trajectory
	var scores [][]formats.Score
	for e, values := range rewards {
		var attempts []formats.Trajectory
		var scored []formats.Score
		for k, v := range values {
			id := fmt.Sprintf("e%02d", e)
			r := formats.Trajectory{TrajectoryID: formats.TrajectoryID(root, id, 0, k), ExampleID: id, Generation: int32(k), Run: "run", Model: root,
				PromptTokens: 10, Example: fmt.Sprintf(`{"level":%d}`, e%2), Status: outcomes.StatusOK, StopReason: outcomes.StopDone}
			for _, of := range calls {
				r.Attempts, r.Calls = 1, of(e, k)
			}
			s := formats.Score{Reward: &v}
			if math.IsNaN(v) {
				r.Status, r.StopReason, r.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailTimeout
				s.Reward, s.Failure = nil, outcomes.RewardTrajectory
			}
			s.Rewards = []formats.NamedReward{{Name: "a", Weight: 1, Value: s.Reward, Failure: s.Failure}, {Name: "b", Value: s.Reward, Failure: s.Failure}}
			attempts, scored = append(attempts, r), append(scored, s)
		}
		rows, scores = append(rows, attempts), append(scores, scored)
	}
	writeScored(t, root, params, map[string]any{"reward": reward}, rows, scores)
}

// twenty are 20 examples of two attempts; by is added to the odd ones.
func twenty(by float64) (out [][]float64) {
	for e := range 20 {
		out = append(out, []float64{0.25 + by*float64(e%2), 0.5 + by*float64(e%2)})
	}
	return out
}

// TestAgainst compares policies whose difference is known.
func TestAgainst(t *testing.T) {
	evaluated(t, "mem://against/a", "set", "r", twenty(0))
	better, failing, missing := twenty(0.5), twenty(0), twenty(0.5)
	for e := range failing {
		if failing[e] = []float64{0.35, 0.6}; e%2 == 1 {
			failing[e] = []float64{null, null}
		}
	}
	missing[1] = nil
	for name, c := range map[string]struct {
		rewards [][]float64
		better  string
		text    []string
	}{
		"better": {better, "b", []string{"result            b is better", "0.375 -> 0.625, difference 0.25 [0.1", "10 better in b, 0 worse, 10 equal",
			"10 solved in b only, 0 in a only, p 0.001953", "\nlevel  examples", "\n0      10        0 [0, 0] ", "\n1      10        0.5 [0.5, 0.5] ", "\nreward  examples"}},
		"equal": {twenty(0), "", []string{"not decided: no example differs"}},
		"worse": {twenty(-0.5), "a", []string{"a is better"}},
		// Its failures hide that it is worse where it is not counted: with them as the lowest reward the sign differs.
		"failing": {failing, "", []string{"not decided: with failures as the lowest reward the difference is -0.", "no reward here, and in no figure: 10 examples (e01, e03"}},
		"missing": {missing, "b", []string{"not attempted here, and in no figure: 1 example (e01)", "19 with a reward on both sides"}},
		"one":     {[][]float64{{1, 1}}, "", []string{"not decided: too few examples differ (1)"}},
		"nothing": {[][]float64{{null, null}}, "", []string{"not decided: no example has a reward on both sides"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := "mem://against/" + name
			evaluated(t, root, "set", "r", c.rewards)
			got, err := Against(t.Context(), "mem://against/a", root, MeasureOptions{Solved: 0.8, Slices: []string{"level"}})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := got.WriteText(&text); err != nil || got.Better != c.better {
				t.Errorf("better is %q, want %q: %v", got.Better, c.better, err)
			}
			for _, want := range c.text {
				if !strings.Contains(text.String(), want) {
					t.Errorf("the text has no %q:\n%s", want, &text)
				}
			}
			other, err := Against(t.Context(), root, "mem://against/a", MeasureOptions{Solved: 0.8})
			if err != nil || other.Wins != got.Losses || other.Lost != got.Gained || (other.Better == "") != (got.Better == "") {
				t.Errorf("the other way round: %+v, %v", other, err)
			}
		})
	}
}

// TestCostOfAgainst: the difference in cost is that of each call's own model, of the examples whose calls are all known, with the
// band of any other figure.
func TestCostOfAgainst(t *testing.T) {
	table := prices.Table{"p*": {Input: 1, Output: 4, Cached: 0.25}, "user": {Input: 0.5, Output: 0.5, Cached: 0.5}}
	call := func(model string, prompt, completion, cached int) formats.Call {
		return formats.Call{Model: model, PromptTokens: int32(prompt), CompletionTokens: int32(completion), CachedTokens: int32(cached)}
	}
	evaluated(t, "mem://cost/a", "set", "r", twenty(0), func(e, k int) []formats.Call {
		return []formats.Call{call("p@1", 1000, 100, 0), call("user", 200, 10, 0)}
	})
	var want paired.Sample
	var raw []float64
	unknown := map[int]formats.Call{3: call("nobody", 5, 5, 0), 5: call("p@2", 0, 0, 0), 6: {Model: "p@2", PromptTokens: 5, Sampling: `{"no_usage":true}`},
		8: {Model: "p@2", PromptTokens: 5, Error: "HTTP 500"}}
	evaluated(t, "mem://cost/b", "set", "r", twenty(0.5), func(e, k int) []formats.Call {
		calls := []formats.Call{call("p@2", 1000+100*e, 50+k, 1000), call("p@2", 300, 7*e, 0)}
		if c, is := unknown[e]; is && k == 1 {
			return append(calls, c)
		}
		raw = append(raw, (1000*0.25+100*float64(e)+4*float64(50+k)+300+4*7*float64(e)-(1000+400+105))/1e6)
		if k == 1 {
			want.IDs, want.Differences = append(want.IDs, fmt.Sprintf("e%02d", e)), append(want.Differences, (raw[len(raw)-2]+raw[len(raw)-1])/2)
		}
		return calls
	})
	got, err := Against(t.Context(), "mem://cost/a", "mem://cost/b", MeasureOptions{Solved: 0.8, Slices: []string{"level"}, Prices: table})
	if err != nil {
		t.Fatal(err)
	}
	low, high := want.Band(0.95)
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9 }
	if c := got.Cost; c == nil || c.Examples != 16 || !near(c.Value, mean(want.Differences)) || !near(*c.Low, low) || !near(*c.High, high) || *c.Low >= *c.High {
		t.Errorf("cost %+v, want %v [%v, %v]", c, mean(want.Differences), low, high)
	}
	if got.Slices[0].Cost.Examples+got.Slices[1].Cost.Examples != 16 {
		t.Errorf("slices %+v and %+v", got.Slices[0].Cost, got.Slices[1].Cost)
	}
	var text bytes.Buffer
	if err := got.WriteText(&text); err != nil || !strings.Contains(text.String(), ", of 16 examples where all is known\n") {
		t.Errorf("%v: the text does not say of how many examples:\n%s", err, &text)
	}
	if got, err := Against(t.Context(), "mem://cost/a", "mem://cost/b", MeasureOptions{}); err != nil || got.Cost != nil {
		t.Errorf("without prices: %+v, %v", got.Cost, err)
	}
}

// TestAgainstRefuses: what would compare more than the policies is refused by name.
func TestAgainstRefuses(t *testing.T) {
	evaluated(t, "mem://refused/a", "set", "r", twenty(0))
	evaluated(t, "mem://refused/set", "another", "r", twenty(0))
	evaluated(t, "mem://refused/unknown", "", "r", twenty(0))
	evaluated(t, "mem://refused/reward", "set", "s", twenty(0))
	for name, want := range map[string]string{
		"set": "its examples are not those of", "unknown": "cannot be told", "reward": `reward was "r", is "s"`, "nowhere": "there is no dataset",
	} {
		if _, err := Against(t.Context(), "mem://refused/a", "mem://refused/"+name, MeasureOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", name, err, want)
		}
	}
}
