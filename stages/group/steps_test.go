package group_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
)

// stepped returns random trajectories of several turns, most with shaped rewards.
func stepped() (rows []formats.Trajectory, steps [][]int) {
	for g := range randomtest.Trajectories(5, randomtest.Options{Groups: 12, Generations: 4, Messages: 9, SampledTokens: 5, PromptTokens: 5, Scored: true,
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
			out := grouped(t, o, shards)
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

// notRecomputed are the estimators that look at columns of the base.
var notRecomputed = []string{"turns", "gigpo", "distill", "tree", "hierarchical", "rae", "value"}

// TestStepsAreRefused where their rewards are not one for each, and where they are to be
// computed again.
func TestStepsAreRefused(t *testing.T) {
	rows, _ := stepped()
	at := slices.IndexFunc(rows, func(t formats.Trajectory) bool { return t.ShapedRewards != nil && t.Status == outcomes.StatusOK })
	rows[at].ShapedRewards = append(rows[at].ShapedRewards, 1)
	in := stored(t, "import", rows, 1)
	o := options(in, in+"-turns")
	o.Estimator.Name = "turns"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "shaped rewards, and") || !strings.Contains(err.Error(), rows[at].TrajectoryID) {
		t.Error(err)
	}
	for _, name := range notRecomputed {
		if _, err := group.Recompute(estimators.All, training.GroupState{Estimator: name}); err == nil || !strings.Contains(err.Error(), "not read again") && !strings.Contains(err.Error(), "from row to row") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStepsOfScatteredRows: messages have the same advantages when the rows of their
// groups are not adjacent.
func TestStepsOfScatteredRows(t *testing.T) {
	rows, _ := stepped()
	in := stored(t, "import", rows, 1)
	for _, name := range []string{"turns", "gigpo"} {
		o := options(in, in+"-"+name)
		o.Estimator.Name = name
		want := grouped(t, o, 1)
		scattered := slices.Clone(rows)
		slices.SortStableFunc(scattered, func(a, b formats.Trajectory) int { return int(a.Generation - b.Generation) })
		o.In.URI = stored(t, "import", scattered, 2)
		o.Out.URI = o.In.URI + "-" + name
		got := grouped(t, o, 2)
		if d := cmp.Diff(byID(rowsOf[formats.Member](t, want, "")), byID(rowsOf[formats.Member](t, got, ""))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestSignalsOfScores: signals that say what shaped rewards say give messages the same
// advantages, in whatever order rows are; a message without one is an error.
func TestSignalsOfScores(t *testing.T) {
	rows, steps := stepped()
	scoresOf := func(rows []formats.Trajectory, steps [][]int, left int) string {
		base := stored(t, "import", rows, 1)
		ref := must(dataset.Open(t.Context(), base, dataset.OpenOptions{})).Ref("base", base+"-score")
		s := must(shards.Begin(t.Context(), base+"-score", manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Base: &ref,
			Inputs: []manifest.Ref{ref}}, shards.Options{}))
		w := shards.NewTable[formats.Score](s, "", 0)
		for i, r := range rows {
			x := formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: r.ExampleID, Epoch: r.Epoch, Generation: r.Generation, Status: r.Status, Reward: r.Reward}
			for k, m := range steps[i] {
				value := 0.0
				if r.ShapedRewards != nil {
					value = r.ShapedRewards[k]
				} else if k == len(steps[i])-1 && r.Reward != nil {
					value = *r.Reward
				}
				if i != left || k > 0 {
					x.Signals = append(x.Signals, formats.Signal{Message: int32(m), Component: "judge", Value: value})
				}
			}
			if err := w.Write(t.Context(), []formats.Score{x}); err != nil {
				t.Fatal(err)
			}
		}
		must(s.Commit(t.Context(), shards.Outcome{}))
		return base + "-score"
	}
	o := options(stored(t, "import", rows, 1), "mem://"+t.Name()+"/shaped")
	o.Estimator.Name = "turns"
	shaped := grouped(t, o, 1)
	want := byID(rowsOf[formats.Member](t, shaped, ""))
	for _, s := range plugin.Declared(&o) {
		if s.Name == "turns-signal" {
			must(0, s.Set("judge"))
		}
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	for _, scattered := range []bool{false, true} {
		if scattered {
			slices.SortStableFunc(order, func(a, b int) int { return int(rows[a].Generation - rows[b].Generation) })
		}
		moved, movedSteps := make([]formats.Trajectory, len(rows)), make([][]int, len(rows))
		for at, i := range order {
			moved[at], movedSteps[at] = rows[i], steps[i]
		}
		o.In.URI = scoresOf(moved, movedSteps, -1)
		o.Out.URI = o.In.URI + "-turns"
		d := grouped(t, o, 1)
		if diff := cmp.Diff(want, byID(rowsOf[formats.Member](t, d, ""))); diff != "" {
			t.Errorf("scattered %v: %s", scattered, diff)
		}
		left := slices.IndexFunc(moved, func(r formats.Trajectory) bool { return r.Reward != nil && r.Status == outcomes.StatusOK })
		o.In.URI = scoresOf(moved, movedSteps, left)
		o.Out.URI = o.In.URI + "-turns"
		_, err := group.Run(t.Context(), o)
		if text := fmt.Sprintf("trajectory %q: its message %d has no signal \"judge\"", moved[left].TrajectoryID, movedSteps[left][0]); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("scattered %v: %v, want %s", scattered, err, text)
		}
	}
}

// conversation makes a scored trajectory of texts: what is said to the policy, and what
// it says, in turn.
func conversation(id string, generation int, reward float64, texts ...string) formats.Trajectory {
	t := formats.Trajectory{TrajectoryID: id, Run: "run", ExampleID: "a", Generation: int32(generation), Example: "{}", Status: outcomes.StatusOK,
		StopReason: outcomes.StopDone, Reward: &reward, Calls: []formats.Call{{Target: true, Tools: -1}}}
	for i, text := range texts {
		m := formats.Message{Parent: int32(i - 1), Role: "user", Content: text, Call: -1}
		if i%2 == 1 {
			m = formats.Message{Parent: int32(i - 1), Role: "assistant", Content: text, Sampled: true, TokenIDs: []int32{int32(len(text))}, Logprobs: []float32{-1}}
		}
		t.Messages = append(t.Messages, m)
	}
	return t
}

// TestStates: a counter in the observation keeps states apart, unless an expression
// leaves it out.
func TestStates(t *testing.T) {
	rows := []formats.Trajectory{
		conversation("t0", 0, 1, "go", "left", "step 1\nx.o", "up"),
		conversation("t1", 1, 0, "go", "right", "step 1\n...", "left", "step 2\nx.o", "down"),
		conversation("t2", 2, 0, "go"),
	}
	rows[2].Status = outcomes.StatusFailed // its messages matter to no one
	of := func(state string) (map[string]float64, error) {
		in := stored(t, "import", rows, 1)
		o := options(in, in+"-gigpo")
		o.Estimator.Name = "gigpo"
		for _, s := range plugin.Declared(&o) {
			if s.Name == "gigpo-state" || s.Name == "gigpo-outcome-weight" {
				if err := s.Set(map[string]string{"gigpo-state": state, "gigpo-outcome-weight": "0"}[s.Name]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := group.Run(t.Context(), o); err != nil {
			return nil, err
		}
		d, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, m := range rowsOf[formats.Member](t, d, "") {
			for _, a := range m.Advantages {
				out[fmt.Sprint(m.TrajectoryID, "/", a.Message)] = math.Round(a.Value*1000) / 1000
			}
		}
		return out, nil
	}
	all := map[string]float64{"t0/1": 1, "t0/3": 0, "t1/1": -1, "t1/3": 0, "t1/5": 0} // only the first is met twice
	board := map[string]float64{"t0/1": 1, "t0/3": 1, "t1/1": -1, "t1/3": 0, "t1/5": -1}
	for state, want := range map[string]map[string]float64{
		"":                       all,
		"last(messages).content": all,
		`split(last(messages).content, "\n")[-1]`:                                                  board,
		`[messages[0].role, split(messages[0].content, "\n") | filter(not (# startsWith "step"))]`: board,
	} {
		got, err := of(state)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", state, err, d)
		}
	}
	for state, want := range map[string]string{
		`split(last(messages).content, "\n")[1]`:             `trajectory "t0": message 1: --gigpo-state`,
		`last(messages).content contains "2" ? nil : "same"`: `trajectory "t1": message 5: --gigpo-state`,
		"last(messages).text":                                "--gigpo-state",
	} {
		if got, err := of(state); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", state, got, err)
		}
	}
}

// TestTrees: trajectories of a group that begin alike are in one tree; ids of tool calls
// and messages of other branches make no difference.
func TestTrees(t *testing.T) {
	rows := []formats.Trajectory{
		conversation("t0", 0, 1, "go", "left", "well", "up"),
		conversation("t1", 1, 0, "go", "left", "badly", "up"),
		conversation("t2", 2, 1, "go", "right", "well", "up"),
		conversation("t3", 3, 0, "go", "right", "well", "up"), // other ids for the same text
		conversation("t4", 4, 0, "go", "move", "well", "up"),
		conversation("t5", 5, 1, "go", "move", "well", "up"), // another tool call
		conversation("t6", 6, 0, "go", "left", "well", "up"), // as t0, with an aside before
	}
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		rows[i].Messages[1].ToolCalls = []formats.ToolCall{{ID: name, Name: "move", Arguments: "{}"}}
	}
	rows[3].Messages[1].TokenIDs = []int32{7}
	rows[5].Messages[1].ToolCalls[0].Arguments = `{"to":1}`
	aside := &rows[6]
	aside.Messages = slices.Insert(aside.Messages, 0, formats.Message{Parent: -1, Role: "user", Content: "aside", Call: -1})
	for i := range aside.Messages[1:] {
		aside.Messages[1+i].Parent = []int32{-1, 1, 2, 3}[i]
	}
	for k, order := range [][]int{{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}} {
		var stacked []formats.Trajectory
		for _, i := range order {
			stacked = append(stacked, rows[i])
		}
		in := stored(t, "import", stacked, 1)
		o := options(in, in+"-tree")
		o.Estimator.Name, o.NoScale = "tree", true
		_, d := run(t, o)
		got := map[string]float64{}
		for _, m := range rowsOf[formats.Member](t, d, "") {
			got[m.TrajectoryID] = math.Round((*m.Advantage+3.0/7-*m.Reward)*1000) / 1000 // of the tree alone
		}
		third := 0.333
		want := map[string]float64{"t0": 0.667, "t1": -third, "t2": 0, "t3": 0, "t4": 0, "t5": 0, "t6": -third}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order %d: %s", k, diff)
		}
	}
}

// TestHierarchicalByColumns: a part is the value of an expression over the base's columns.
func TestHierarchicalByColumns(t *testing.T) {
	var rows []formats.Trajectory
	for i, x := range []struct {
		role, episode string
		reward        float64
	}{{"proposer", "1", 1}, {"solver", "1", 5}, {"solver", "1", 7}, {"proposer", "2", 0}, {"solver", "2", 1}} {
		row := conversation(fmt.Sprint("t", i), i, x.reward, "go", "left")
		row.Metadata = fmt.Sprintf(`{"role":%q,"episode":%q}`, x.role, x.episode)
		rows = append(rows, row)
	}
	in := stored(t, "import", rows, 1)
	for by, want := range map[string]string{
		"": "a0 0.500, a1 0.667, a2 2.667, a3 -0.500, a4 -3.333",
		`metadata.role == "solver" ? metadata.role + metadata.episode : metadata.role`: "a0 0.500, a1 -1.000, a2 1.000, a3 -0.500, a4 singleton",
	} {
		for _, shards := range []int{1, 2} {
			o := options(in, in+fmt.Sprint("-hierarchical-", len(by), shards))
			o.Estimator.Name, o.NoScale = "hierarchical", true
			for _, s := range plugin.Declared(&o) {
				if s.Name == "hierarchical-by" && by != "" {
					if err := s.Set(by); err != nil {
						t.Fatal(err)
					}
				}
			}
			d := grouped(t, o, shards)
			if got := words(rowsOf[formats.Member](t, d, "")); got != want {
				t.Errorf("by %q in %d shards:\n got %s\nwant %s", by, shards, got, want)
			}
		}
	}
	rows[4].Metadata = "{}"
	in = stored(t, "import", rows, 1)
	o := options(in, in+"-hierarchical")
	o.Estimator.Name = "hierarchical"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `row 4: --hierarchical-by "metadata.role": it has no value`) {
		t.Error(err)
	}
}
