// Package ruletest tests what every rule must guarantee.
package ruletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

// Setup returns curate's own options at their defaults, under a compat.
func Setup(compat curate.Compat) curate.Setup {
	return curate.Setup{Compat: compat, FlatTolerance: training.FlatTolerance, MinValid: curate.DefaultMinValid}
}

var reasonText = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// Run tests the rule of a kind with these settings.
func Run(t *testing.T, k curate.RuleKind, settings curate.RuleSettings, compat curate.Compat) {
	RunUnder(t, k, settings, Setup(compat))
}

// RunUnder is Run with other options of curate's own.
func RunUnder(t *testing.T, k curate.RuleKind, settings curate.RuleSettings, setup curate.Setup) {
	if k.Help == "" || len(k.Reasons) == 0 {
		t.Error("a rule has a help phrase and reasons")
	}
	for _, reason := range k.Reasons {
		if !reasonText.MatchString(reason) {
			t.Errorf("reason %q is not lower case with underscores", reason)
		}
	}
	for _, reason := range k.More {
		if !slices.Contains(k.Reasons, reason) {
			t.Errorf("More has %q, which is not among the reasons", reason)
		}
	}
	plugintest.Settings(t, func() plugin.Settings { return k.New() })
	rule, err := settings.Rule(setup)
	each, compares, looks, reads := rule.Group != nil, rule.Groups != nil, rule.Members != nil, rule.Rows != nil
	if err != nil || each && compares || looks && reads || !each && !compares && !looks && !reads {
		t.Fatalf("the settings make no rule, or several: %v", err)
	}
	s := suite{k, rule}
	t.Run("pure", func(t *testing.T) { rapid.Check(t, s.pure) })
	t.Run("state", func(t *testing.T) { rapid.Check(t, s.state) })
	if setup.Compat != curate.CompatNAT { // which breaks ties by place
		t.Run("order does not matter", func(t *testing.T) { rapid.Check(t, s.order) })
	}
	if k.Again && !each {
		t.Error("it is asked again, and does not judge each group for itself")
	}
	if reads {
		t.Run("rows", func(t *testing.T) { rapid.Check(t, s.rows) })
	}
	if looks {
		t.Run("members", func(t *testing.T) { rapid.Check(t, s.members) })
	}
}

type suite struct {
	curate.RuleKind
	rule curate.Rule
}

func batch(t *rapid.T, groups []curate.Group) curate.Batch {
	return curate.Batch{
		Epoch: rapid.IntRange(0, 30).Draw(t, "epoch"),
		Seed:  rapid.Int64().Draw(t, "seed"),
		Total: len(groups),
	}
}

// groups draws up to a dozen groups with many ties, some without valid members.
func groups(t *rapid.T) []curate.Group {
	out := make([]curate.Group, rapid.IntRange(0, 12).Draw(t, "groups"))
	row := int64(0)
	for i := range out {
		n := rapid.IntRange(1, 6).Draw(t, "members")
		g := curate.Group{ID: fmt.Sprintf("e%d@3", i), ExampleID: fmt.Sprintf("e%d", i/2), FirstRow: row, Count: n,
			Valid: rapid.IntRange(0, n).Draw(t, "valid")}
		if g.Valid > 0 {
			a := float64(rapid.IntRange(0, 8).Draw(t, "a")) / 8
			b := float64(rapid.IntRange(0, 8).Draw(t, "b")) / 8
			g.Min, g.Max, g.Mean = min(a, b), max(a, b), (a+b)/2
			g.Solved = float64(rapid.IntRange(0, g.Valid).Draw(t, "solved")) / float64(g.Valid)
		}
		if g.Valid == 1 {
			g.Min, g.Max = g.Mean, g.Mean
		}
		out[i] = g
		row += int64(n)
	}
	return out
}

func (s suite) judge(t *rapid.T, b curate.Batch, g []curate.Group) curate.Ruling {
	r, err := curate.Apply(s.rule, b, g)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, r.Verdicts, len(g))
	return r
}

func (s suite) check(t *rapid.T, verdicts []curate.Verdict, n int) {
	if len(verdicts) != n {
		t.Fatalf("%d verdicts for %d", len(verdicts), n)
	}
	for _, v := range verdicts {
		if v.Reason != "" && !slices.Contains(s.Reasons, v.Reason) {
			t.Fatalf("reason %q is not announced", v.Reason)
		}
	}
}

func (s suite) pure(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	was := slices.Clone(g)
	for i := range g {
		if s.rule.Group != nil {
			s.rule.Group(b, &g[i])
		}
	}
	first, second := s.judge(t, b, g), s.judge(t, b, g)
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("twice the same groups: %+v and %+v", first, second)
	}
	if !slices.Equal(g, was) {
		t.Fatal("the rule changed its groups")
	}
}

// state checks that the state survives JSON into the next epoch, and that an
// invalid one is refused.
func (s suite) state(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	r := s.judge(t, b, g)
	if r.State == nil {
		return
	}
	data, err := json.Marshal(r.State)
	if err != nil {
		t.Fatal(err)
	}
	b.Epoch++
	b.State = data
	next := s.judge(t, b, g)
	again, err := json.Marshal(s.judge(t, b, g).State)
	if data, _ = json.Marshal(next.State); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("the state is not a function of its past: %s, %s", data, again)
	}
	b.State = json.RawMessage(`"nonsense"`)
	if _, err := curate.Apply(s.rule, b, g); err == nil {
		t.Fatal("a nonsensical state is accepted")
	}
}

func (s suite) order(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	perm := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Perm(len(g))
	moved := make([]curate.Group, len(g))
	for i, p := range perm {
		moved[p] = g[i]
	}
	here, there := s.judge(t, b, g), s.judge(t, b, moved)
	for i, p := range perm {
		if here.Verdicts[i] != there.Verdicts[p] {
			t.Fatalf("group %s: %v in one order, %v in another", g[i].ID, here.Verdicts[i], there.Verdicts[p])
		}
	}
}

func (s suite) members(t *rapid.T) {
	n := rapid.IntRange(1, 9).Draw(t, "members")
	members := make([]formats.Member, n)
	for i := range members {
		reward := float64(rapid.IntRange(0, 4).Draw(t, "reward")) / 4
		members[i] = formats.Member{TrajectoryID: formats.TrajectoryID("run", "e", 0, i), Status: outcomes.StatusOK,
			Reward: &reward}
	}
	b := batch(t, make([]curate.Group, rapid.IntRange(1, 3).Draw(t, "total")))
	verdicts := s.orNone(s.rule.Members(b, members), n)
	s.check(t, verdicts, n)
	slices.Reverse(members)
	back := s.orNone(s.rule.Members(b, members), n)
	slices.Reverse(back)
	if !slices.Equal(verdicts, back) {
		t.Fatalf("%v in one order, %v in the other", verdicts, back)
	}
}

func (s suite) orNone(v []curate.Verdict, n int) []curate.Verdict {
	if v == nil {
		return make([]curate.Verdict, n)
	}
	return v
}

// rows draws a group of all kinds of trajectories: with and without log
// probabilities, policy versions and twins.
func (s suite) rows(t *rapid.T) {
	n := rapid.IntRange(1, 7).Draw(t, "rows")
	members, whole := make([]formats.Member, n), make([]formats.Trajectory, n)
	rows := make([]curate.Row, n)
	for i := range rows {
		reward := float64(rapid.IntRange(0, 4).Draw(t, "reward")) / 4
		members[i] = formats.Member{TrajectoryID: formats.TrajectoryID("run", "e", 0, i), ExampleID: "e",
			Generation: int32(i), Status: outcomes.StatusOK, Reward: &reward}
		whole[i] = trajectory(t, members[i])
		rows[i] = curate.Row{Member: &members[i], Trajectory: &whole[i]}
	}
	was := make([]formats.Trajectory, n)
	for i := range whole {
		was[i] = whole[i]
		was[i].Messages = slices.Clone(whole[i].Messages)
	}
	g := curate.Group{ID: "e@0", ExampleID: "e", Count: n, Valid: n, Max: 1, Mean: 0.5}
	b := batch(t, make([]curate.Group, 1))
	verdicts := s.orNone(s.rule.Rows(b, g, rows), n)
	s.check(t, verdicts, n)
	if again := s.orNone(s.rule.Rows(b, g, rows), n); !slices.Equal(verdicts, again) {
		t.Fatalf("twice the same rows: %v and %v", verdicts, again)
	}
	if !reflect.DeepEqual(was, whole) {
		t.Fatal("the rule changed its rows")
	}
	slices.Reverse(rows)
	back := s.orNone(s.rule.Rows(b, g, rows), n)
	slices.Reverse(back)
	if !slices.Equal(verdicts, back) {
		t.Fatalf("%v in one order, %v in the other", verdicts, back)
	}
}

func trajectory(t *rapid.T, m formats.Member) formats.Trajectory {
	out := formats.Trajectory{
		TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, Generation: m.Generation, Status: m.Status,
		StopReason: outcomes.StopDone,
		Example:    rapid.SampledFrom([]string{"{}", `{"id":"e","question":"q"}`, "no object"}).Draw(t, "example"),
		Calls: []formats.Call{{Model: "m",
			Sampling: rapid.SampledFrom([]string{"{}", `{"temperature":0.5}`, "no object"}).Draw(t, "sampling"), Tools: -1,
			Target: true}},
	}
	if rapid.Bool().Draw(t, "version known") {
		v := rapid.Int64Range(0, 9).Draw(t, "version")
		out.PolicyVersion, out.Calls[0].PolicyVersion = &v, &v
	}
	k := rapid.IntRange(0, 3).Draw(t, "tokens")
	sampled := formats.Message{Role: "assistant", Content: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "content"),
		Sampled:  true,
		TokenIDs: make([]int32, k), Logprobs: make([]float32, rapid.IntRange(0, 3).Draw(t, "logprobs"))}
	out.Messages = []formats.Message{{Parent: -1, Role: "user", Content: "go", Call: -1}, sampled}[rapid.IntRange(0, 1).
		Draw(t, "root"):]
	if len(out.Messages) == 1 {
		out.Messages[0].Parent = -1
	}
	out.SampledTokens, out.Calls[0].CompletionTokens = int32(k), int32(k)
	return out
}
