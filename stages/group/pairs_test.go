package group_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// say is a conversation written short: "u:" user, "a:" sampled answer, "t:" a
// tool's words; "a!" calls the tool with what follows as arguments.
func say(generation int, reward float64, lines ...string) formats.Trajectory {
	t := formats.Trajectory{
		TrajectoryID: fmt.Sprint("t", generation), Run: "run", ExampleID: "e", Generation: int32(generation), Example: "{}",
		Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Reward: &reward,
		Calls: []formats.Call{{Model: "m", Sampling: "{}", Tools: -1, Target: true}},
	}
	for i, line := range lines {
		m := formats.Message{Parent: int32(i - 1), Role: "user", Content: line[2:], Call: -1}
		switch line[:2] {
		case "a:":
			m.Role, m.Sampled, m.Call = "assistant", true, 0
		case "a!":
			m.Role, m.Content, m.Sampled, m.Call = "assistant", "", true, 0
			m.ToolCalls = []formats.ToolCall{{ID: fmt.Sprint("call-", generation), Name: "look", Arguments: line[2:]}}
		case "t:":
			m.Role = "tool"
			m.ToolCallID = fmt.Sprint("call-", generation)
		}
		t.Messages = append(t.Messages, m)
	}
	return t
}

func conversations(t *testing.T, name string, groups ...[]formats.Trajectory) string {
	t.Helper()
	uri := "mem://" + strings.NewReplacer("/", "-", " ", "-", "'", "").Replace(t.Name()+"-"+name) + "/rollout" // a bucket of its own: memory lists slowly
	s := must(shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{}))
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	for _, g := range groups {
		if err := w.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	must(s.Commit(t.Context(), shards.Outcome{}))
	return uri
}

// paired shows pairs as "chosen>rejected margin: chosen's messages | rejected's".
func paired(t *testing.T, d *dataset.Dataset) []string {
	var out []string
	for _, p := range readAll[formats.Pair](t, d, schema.TablePairs) {
		out = append(out, fmt.Sprintf("%s.%d>%s.%d %.3g: %s + %s | %s", p.ChosenID, p.ChosenIndex, p.RejectedID, p.RejectedIndex, p.Margin,
			contents(p.Prompt), contents(p.Chosen), contents(p.Rejected)))
	}
	return out
}

func contents(messages string) string {
	var list []struct{ Role, Content string }
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Role[:1]+":"+m.Content)
	}
	return strings.Join(out, " ")
}

func pairsOf(t *testing.T, in, out string, p pairs.Settings, compat group.Compat) (*dataset.Dataset, []string) {
	t.Helper()
	o := options(in, out)
	o.Pairs, o.Compat = p, compat
	_, d := run(t, o)
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Error(err)
	}
	return d, paired(t, d)
}

func TestPairsOfTrajectories(t *testing.T) {
	failed := say(5, 9, "u:q", "a:never")
	failed.Status, failed.StopReason, failed.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
	unscored := say(6, 0, "u:q", "a:unscored")
	unscored.Reward = nil
	in := conversations(t, "rollout", []formats.Trajectory{
		say(0, 1, "u:q", "a:<best> & more"), say(1, 0.5, "u:q", "a:fair"), say(2, 0.5, "u:q", "a:as fair"), say(3, 0, "u:q", "a:worst"),
		say(4, 0.2, "u:another question", "a:poor"), failed, unscored,
	})
	for name, c := range map[string]struct {
		pairs.Settings
		want  []string
		facts string
	}{
		"exhaustive": {pairs.Settings{Mode: pairs.Exhaustive}, []string{
			"t0.1>t3.1 1: u:q + a:<best> & more | a:worst", "t0.1>t1.1 0.5: u:q + a:<best> & more | a:fair", "t0.1>t2.1 0.5: u:q + a:<best> & more | a:as fair",
			"t1.1>t3.1 0.5: u:q + a:fair | a:worst", "t2.1>t3.1 0.5: u:q + a:as fair | a:worst"}, "5 pairs, 1 tie, 0 margin, 4 prompts, 0 limit"},
		"best and worst": {pairs.Settings{Mode: pairs.BestWorst}, []string{"t0.1>t3.1 1: u:q + a:<best> & more | a:worst"},
			"1 pairs, 0 tie, 0 margin, 0 prompts, 0 limit"},
		"top": {pairs.Settings{Mode: pairs.TopK}, []string{"t0.1>t3.1 1: u:q + a:<best> & more | a:worst"}, "1 pairs, 0 tie, 0 margin, 1 prompts, 0 limit"},
		"margin": {pairs.Settings{Mode: pairs.Exhaustive, Margin: 0.6}, []string{"t0.1>t3.1 1: u:q + a:<best> & more | a:worst"},
			"1 pairs, 1 tie, 7 margin, 1 prompts, 0 limit"},
		"limit": {pairs.Settings{Mode: pairs.Exhaustive, Limit: 2}, []string{
			"t0.1>t3.1 1: u:q + a:<best> & more | a:worst", "t0.1>t1.1 0.5: u:q + a:<best> & more | a:fair"}, "2 pairs, 1 tie, 0 margin, 1 prompts, 6 limit"},
	} {
		t.Run(name, func(t *testing.T) {
			d, got := pairsOf(t, in, in+"-"+strings.ReplaceAll(name, " ", "-"), c.Settings, group.CompatNone)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			f := d.Facts
			if facts := fmt.Sprintf("%v pairs, %v tie, %v margin, %v prompts, %v limit", f["pairs"], f["pairs_tie"], f["pairs_margin"], f["pairs_prompts"],
				f["pairs_limit"]); facts != c.facts {
				t.Errorf("facts %s, want %s", facts, c.facts)
			}
		})
	}
	if _, got := pairsOf(t, in, in+"-ties", pairs.Settings{Mode: pairs.Exhaustive, Ties: true}, group.CompatNone); len(got) != 6 {
		t.Errorf("with ties: %v", got)
	}
}

// Whole trajectories part at their first difference, which must be the model's.
func TestWhereTrajectoriesDiverge(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []string
		want string // "" for no pair
		fact string
	}{
		"at the second answer": {[]string{"u:q", "a:hm", "u:go on", "a:yes"}, []string{"u:q", "a:hm", "u:go on", "a:no", "u:sure?"},
			"t0.3>t1.3 1: u:q a:hm u:go on + a:yes | a:no u:sure?", "pairs"},
		"ids of calls are chance": {[]string{"u:q", `a!{"x": 1, "y": 2}`, "t:7", "a:yes"}, []string{"u:q", `a!{"y":2,"x":1}`, "t:7", "a:no"},
			"t0.3>t1.3 1: u:q a: t:7 + a:yes | a:no", "pairs"},
		"other arguments": {[]string{"u:q", `a!{"x":1}`, "t:7", "a:yes"}, []string{"u:q", `a!{"x":2}`, "t:7", "a:yes"},
			"t0.1>t1.1 1: u:q + a: t:7 a:yes | a: t:7 a:yes", "pairs"},
		"the world differed":       {[]string{"u:q", `a!{}`, "t:7", "a:yes"}, []string{"u:q", `a!{}`, "t:8", "a:no"}, "", "pairs_prompts"},
		"one is the other's start": {[]string{"u:q", "a:yes"}, []string{"u:q", "a:yes", "u:more", "a:no"}, "", "pairs_prompts"},
		"the same":                 {[]string{"u:q", "a:yes"}, []string{"u:q", "a:yes"}, "", "pairs_same"},
	} {
		t.Run(name, func(t *testing.T) {
			in := conversations(t, "rollout", []formats.Trajectory{say(0, 1, c.a...), say(1, 0, c.b...)})
			d, got := pairsOf(t, in, in+"-group", pairs.Settings{Mode: pairs.Exhaustive}, group.CompatNone)
			if strings.Join(got, "; ") != c.want || d.Facts[c.fact] != 1 {
				t.Errorf("got %v, facts %v", got, d.Facts)
			}
		})
	}
	in := conversations(t, "first", []formats.Trajectory{say(0, 1, "u:q", `a!{"x":1}`, "t:7", "a:yes"), say(1, 0, "u:q", "a:no", "u:sure?", "a:no")})
	d, got := pairsOf(t, in, in+"-group", pairs.Settings{Mode: pairs.Exhaustive, At: pairs.FirstDifference}, group.CompatNone)
	if strings.Join(got, "; ") != "t0.1>t1.1 1: u:q + a: | a:no" || d.Facts["pairs_unfit_turns"] != 0 {
		t.Errorf("at the first difference: %v, facts %v", got, d.Facts)
	}
	a, b := say(0, 1, "u:q", "a:yes"), say(1, 0, "u:q", "a:no")
	b.ToolSets, b.Calls[0].Tools = []string{`[{"type":"function"}]`}, 0
	in = conversations(t, "tools", []formats.Trajectory{a, b})
	if d, got := pairsOf(t, in, in+"-group", pairs.Settings{Mode: pairs.BestWorst}, group.CompatNone); got != nil || d.Facts["pairs_prompts"] != 1 {
		t.Errorf("other tools on offer: %v", got)
	}
}

func TestPairsOfCandidates(t *testing.T) {
	score := func(x float64) *float64 { return &x }
	a := say(0, 1, "u:q", "a:one", "u:and?", "a:two")
	a.Candidates = []formats.Candidate{
		{Message: 1, Content: "one", Score: score(0.2)}, {Message: 1, Content: "uno", Score: score(0.9)}, {Message: 1, Content: "unscored"},
		{Message: 3, Turn: "second", Content: "two", Score: score(1)}, {Message: 3, Turn: "second", Content: "two", Score: score(0.5)},
		{Message: -1, Content: "nowhere", Score: score(3)},
	}
	b := say(1, 0, "u:q", "a:other")
	b.Candidates = []formats.Candidate{{Message: 1, Content: "other", Score: score(0)}, {Message: 1, Content: "another", Score: score(0)}}
	failed := say(2, 0, "u:q", "a:x")
	failed.Status, failed.StopReason, failed.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
	failed.Candidates = []formats.Candidate{{Message: 1, Content: "x", Score: score(0)}, {Message: 1, Content: "y", Score: score(1)}}
	in := conversations(t, "rollout", []formats.Trajectory{a, b, failed})
	d, got := pairsOf(t, in, in+"-group", pairs.Settings{Mode: pairs.Exhaustive, From: pairs.Candidates}, group.CompatNone)
	if diff := cmp.Diff([]string{"t0.1>t0.0 0.7: u:q + a:uno | a:one"}, got); diff != "" {
		t.Error(diff)
	}
	if f := d.Facts; f["pairs_same"] != 1 || f["pairs_tie"] != 1 || f["pairs_prompts"] != 1 {
		t.Errorf("facts %v", f)
	}
}

// NAT's own builder, on 300 random examples.
func TestPairsOfNAT(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "pairs", "nat.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, made := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct {
			Exhaustive bool
			Margin     float64
			Limit      int
			Turns      [][]float64
			Pairs      [][4]float64
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		one := say(0, 1, "u:q", "a:r")
		var names []int // of each candidate: its place in its turn
		for turn, scores := range c.Turns {
			for i := range scores {
				one.Candidates = append(one.Candidates, formats.Candidate{Message: 1, Turn: fmt.Sprint(turn), Content: fmt.Sprint("r", i), Score: &scores[i]})
				names = append(names, i)
			}
		}
		in := conversations(t, fmt.Sprint("rollout-", n), []formats.Trajectory{one})
		p := pairs.Settings{Mode: pairs.BestWorst, Margin: c.Margin, Limit: c.Limit}
		if c.Exhaustive {
			p.Mode = pairs.Exhaustive
		}
		o := options(in, in+"-group")
		o.Pairs, o.Compat = p, group.CompatNAT
		_, d := run(t, o)
		var got [][4]float64
		for _, x := range readAll[formats.Pair](t, d, schema.TablePairs) {
			turn := 0
			if _, err := fmt.Sscan(x.Turn, &turn); err != nil {
				t.Fatal(err)
			}
			got = append(got, [4]float64{float64(turn), float64(names[x.ChosenIndex]), float64(names[x.RejectedIndex]), x.Margin})
		}
		if diff := cmp.Diff(c.Pairs, got); diff != "" && len(c.Pairs)+len(got) > 0 {
			t.Errorf("example %d: %s", n, diff)
		}
		made += len(got)
	}
	if n != 300 || made < 500 {
		t.Errorf("%d examples with %d pairs", n, made)
	}
}

func TestLabels(t *testing.T) {
	failed := say(3, 9, "u:q", "a:never")
	failed.Status, failed.StopReason, failed.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
	in := conversations(t, "rollout", []formats.Trajectory{
		say(0, 1, "u:q", "a:yes", "u:sure?", "a:sure"), say(1, 0.9, "u:q", "a:no"), say(2, 0, "u:q"), failed, say(4, 2, "u:q", "a:very"),
		say(5, 1, "u:q", "a:yes"),
	})
	o := options(in, in+"-group")
	o.Labels = true
	r, d := run(t, o)
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Error(err)
	}
	var got []string
	for _, x := range readAll[formats.Label](t, d, schema.TableLabels) {
		got = append(got, fmt.Sprintf("%s %v: %s + %s", x.TrajectoryID, x.Desirable, contents(x.Prompt), contents(x.Completion)))
	}
	want := []string{"t0 true: u:q + a:yes u:sure? a:sure", "t1 false: u:q + a:no", "t4 true: u:q + a:very", "t5 true: u:q + a:yes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d.Facts["desirable"] != 3 || d.Facts["undesirable"] != 1 ||
		!strings.HasSuffix(r.Message,
			"3 desirable, 1 undesirable: KTO weights 1 and 2.25 (1 of them unfit for the files of preference trainers: several answers after the prompt 1)") {
		t.Errorf("facts %v, %q", d.Facts, r.Message)
	}
	if _, pairs := d.Tables[schema.TablePairs]; pairs {
		t.Error("nobody asked for pairs")
	}
}

// The weighted ratio is what TRL advises, or left alone where it is already.
func TestKTOWeights(t *testing.T) {
	for d := int64(1); d < 60; d++ {
		for u := int64(1); u < 60; u++ {
			wd, wu := formats.KTOWeights(d, u)
			if ratio := wd * float64(d) / (wu * float64(u)); ratio < 1-1e-12 || ratio > 4.0/3+1e-12 || wd < 1 || wu < 1 || wd > 1 && wu > 1 {
				t.Fatalf("%d and %d: weights %v and %v", d, u, wd, wu)
			}
		}
	}
	if d, u := formats.KTOWeights(0, 5); d != 1 || u != 1 {
		t.Errorf("nothing to balance: %v, %v", d, u)
	}
}

// What preference trainers' files have no room for is said when it is made.
func TestPairsThatCannotBeExportedAreCounted(t *testing.T) {
	one := []formats.Trajectory{say(0, 1, "u:q", "a:yes"), say(1, 0, "u:q", "a:no")}
	turns := []formats.Trajectory{say(0, 1, "u:q", "a:first", "u:more", "a:second"), say(1, 0, "u:q", "a:no"), say(2, 0.5, "u:q", "a:well")}
	for i := range turns {
		turns[i].TrajectoryID, turns[i].ExampleID = turns[i].TrajectoryID+"-turns", "turns"
	}
	o := options(conversations(t, "rollout-unfit", one, turns), "mem://unfit/group")
	o.Pairs, o.Labels = pairs.Settings{Mode: pairs.Exhaustive}, true
	report, d := run(t, o)
	for _, want := range []string{"4 pairs (2 of them unfit for the files of preference trainers: several answers after the prompt 2)",
		"(1 of them unfit for the files of preference trainers: several answers after the prompt 1)"} {
		if !strings.Contains(report.Message, want) {
			t.Errorf("%q does not say %q", report.Message, want)
		}
	}
	if d.Facts["groups_unpaired_tie"] != 0 || d.Facts["pairs_unfit_turns"] != 2 || d.Facts["labels_unfit_turns"] != 1 {
		t.Errorf("%v", d.Facts)
	}
}
