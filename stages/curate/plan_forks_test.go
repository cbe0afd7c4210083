package curate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// tooled makes a trajectory one of five calls: the first answers are the same in every attempt, from
// the third on they differ; the tool that the fourth calls fails; the fifth follows a compaction
// and is the least likely but one.
func tooled(t *formats.Trajectory) {
	t.Messages, t.Calls = []formats.Message{{Parent: -1, Role: "user", Content: "q", Call: -1}}, nil
	add := func(m formats.Message) {
		m.Parent = int32(len(t.Messages) - 1)
		t.Messages = append(t.Messages, m)
	}
	for k := range int32(5) {
		own := ""
		if k >= 2 {
			own = t.TrajectoryID
		}
		if k == 4 {
			add(formats.Message{Role: "user", Content: "in short: ...", Call: -1, Branch: "compaction"})
		}
		add(formats.Message{Role: "assistant", Content: fmt.Sprint("answer ", k, own), Sampled: true, Call: k, TokenIDs: []int32{k},
			Logprobs: []float32{[]float32{-9, -3, -1, -0.5, -2}[k]}, ToolCalls: []formats.ToolCall{{ID: "i", Name: "n", Arguments: "{}"}}})
		said := "found 3 errors in a file"
		if k == 3 {
			said = "Error: no such file"
		}
		add(formats.Message{Role: "tool", Content: said, Call: -1})
		t.Calls = append(t.Calls, formats.Call{Model: "m", Sampling: "{}", Tools: -1, Target: true, CompletionTokens: 1})
	}
	t.SampledTokens = 5
	t.SetPayloadDigest()
}

// Where trajectories are forked, and how often.
func TestPlanForks(t *testing.T) {
	in := changed(t, "groups", 0, []example{{"a", "1 0 f"}, {"b", "0 0"}, {"solved", "1 1"}}, tooled)
	for name, c := range map[string]struct {
		points int
		want   string // calls of each trajectory
	}{
		curate.ForkEven + " 1":       {1, "2"},
		curate.ForkEven + " 2":       {2, "1 3"},
		curate.ForkEven + " 9":       {9, "1 2 3 4"},
		curate.ForkDifference + " 0": {0, "3"}, // the answer of call 2 is its own
		curate.ForkEntropy + " 2":    {2, "1 4"},
		curate.ForkTool + " 3":       {3, "3"},
		curate.ForkCompaction + " 3": {3, "4"},
	} {
		o := options(in, in+"-"+strings.ReplaceAll(name, " ", "-"))
		o.PlanTable.Forks, o.PlanTable.ForkPoints, o.PlanTable.Generations = strings.Fields(name)[0], c.points, 3
		_, d := run(t, o)
		check(t, dataset.Verify(t.Context(), d))
		calls, order := map[string]string{}, []string{}
		for _, r := range readAll[decision.Planned](t, d, schema.TablePlan) {
			if r.Reason != decision.PlanFork || r.Generations != 3 || r.First != 3 || r.ForkCall == nil || r.GroupID != r.ExampleID+"@0" {
				t.Errorf("%s: %+v", name, r)
			}
			if calls[r.ForkedFrom] == "" {
				order = append(order, r.ExampleID)
			}
			calls[r.ForkedFrom] = strings.TrimSpace(fmt.Sprint(calls[r.ForkedFrom], " ", *r.ForkCall))
		}
		if fmt.Sprint(order) != "[a a b b solved solved]" { // not of what failed
			t.Errorf("%s: forks of %v", name, order)
		}
		for id, got := range calls {
			if got != c.want {
				t.Errorf("%s: %s is forked at %q, want %q", name, id, got, c.want)
			}
		}
		o.PlanTable.Budget, o.Out.URI = budget(7), o.Out.URI+"-budget"
		_, whole := run(t, o)
		total, want := int32(0), planned(t, whole)
		for _, r := range readAll[decision.Planned](t, whole, schema.TablePlan) {
			total += r.Generations
		}
		if most := int32(6 * 3 * len(strings.Fields(c.want))); total != min(7, most) {
			t.Errorf("%s: %d forks for a budget of 7: %s", name, total, want)
		}
		o.Out.URI += "-shards"
		for i := range 3 {
			o.Out.Shard = stages.Shard{Index: i, Count: 3}
			_, err := curate.Run(t.Context(), o)
			check(t, err)
		}
		if got := planned(t, open(t, o.Out.URI)); got != want {
			t.Errorf("%s in shards: %s, not %s", name, got, want)
		}
	}
	o := options(in, in+"-bad")
	o.PlanTable.ForkPoints = 2
	if _, err := curate.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--plan-fork-points") {
		t.Error(err)
	}
}

// TestForksAreThoseThatCanBeMade: every call before one was answered once, and there is one.
func TestForksAreThoseThatCanBeMade(t *testing.T) {
	candidate := func(call int32) func(*formats.Trajectory) {
		return func(t *formats.Trajectory) {
			t.Candidates = []formats.Candidate{{Message: 2*call + 1, Call: &call, Reason: "choice", Content: "another"}}
		}
	}
	for name, c := range map[string]struct {
		change func(*formats.Trajectory)
		want   string
	}{
		"several answers": {candidate(2), "1 2"},
		"of the first":    {candidate(0), ""},
		"of the last":     {candidate(4), "1 2 3 4"},
		"no answer kept":  {func(t *formats.Trajectory) { t.Messages[5].Sampled = false }, "1"},
		"a failed first": {func(t *formats.Trajectory) {
			t.Messages[1].Sampled, t.Calls[0].Error = false, "no answer"
		}, "2 3 4"},
	} {
		in := changed(t, strings.ReplaceAll(name, " ", "-"), 0, []example{{"a", "1 0"}}, func(t *formats.Trajectory) {
			tooled(t)
			c.change(t)
			t.SetPayloadDigest()
		})
		o := options(in, in+"-out")
		o.PlanTable.Forks, o.PlanTable.ForkPoints, o.PlanTable.Generations = curate.ForkEven, 9, 3
		_, d := run(t, o)
		calls := map[string]string{}
		for _, r := range readAll[decision.Planned](t, d, schema.TablePlan) {
			if r.ForkCall != nil {
				calls[r.ForkedFrom] = strings.TrimSpace(fmt.Sprint(calls[r.ForkedFrom], " ", *r.ForkCall))
			}
		}
		if n := len(calls); (n == 2) != (c.want != "") || n == 1 {
			t.Errorf("%s: forks of %v", name, calls)
		}
		for id, got := range calls {
			if got != c.want {
				t.Errorf("%s: %s is forked at %q, want %q", name, id, got, c.want)
			}
		}
	}
}
