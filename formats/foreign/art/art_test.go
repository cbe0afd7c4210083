package art

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/randomtest"
)

func pointer(f float64) *float64 { return &f }

// exportGroup returns two members of one example, each a question and a sampled
// answer.
func exportGroup() []formats.Trajectory {
	rows := make([]formats.Trajectory, 2)
	for g := range rows {
		rows[g] = formats.Trajectory{
			TrajectoryID: fmt.Sprintf("t-%d", g), ExampleID: "e-1", GroupID: "e-1@0", Generation: int32(g),
			Reward: pointer(float64(g)),
			Messages: []formats.Message{
				{Parent: -1, Role: "system", Content: "you play", Call: -1},
				{Parent: 0, Role: "user", Content: "your move", Call: -1},
				sampled(1, 0, int32(10*g)),
			},
			Calls: []formats.Call{call(), call()},
		}
	}
	return rows
}

func call() formats.Call {
	return formats.Call{Target: true, Tools: -1, PromptTokens: 20, CompletionTokens: 2}
}

func sampled(parent, call int32, id int32) formats.Message {
	return formats.Message{Parent: parent, Role: "assistant", Content: "e4", Call: call, Sampled: true,
		FinishReason: "stop",
		TokenIDs:     []int32{id, id + 1}, Logprobs: []float32{-0.11, -0.02}}
}

// reasons checks a group and returns each reason once, in order.
func reasons(rows []formats.Trajectory, l Limits) []string {
	var out []string
	Check(rows, l, func(p Problem) {
		if !slices.Contains(out, p.Reason) {
			out = append(out, p.Reason)
		}
	})
	return out
}

func TestEveryReasonIsFound(t *testing.T) {
	found := map[string]bool{}
	for _, c := range []struct {
		reason string
		limits Limits
		spoil  func(rows []formats.Trajectory) []formats.Trajectory
	}{
		{reason: Singleton, spoil: func(rows []formats.Trajectory) []formats.Trajectory { return rows[:1] }},
		{reason: Flat, spoil: edit(func(r *formats.Trajectory) { r.Reward = pointer(0.1) })},
		{reason: NoReward, spoil: edit(func(r *formats.Trajectory) { r.Reward = nil })},
		{reason: BadReward, spoil: edit(func(r *formats.Trajectory) { r.Reward = pointer(math.NaN()) })},
		{reason: FirstRole, spoil: edit(func(r *formats.Trajectory) {
			r.Messages[0].Role, r.Messages[0].ToolCallID = "tool", "x"
		})},
		{reason: BadRole, spoil: edit(func(r *formats.Trajectory) { r.Messages[1].Role = "critic" })},
		{reason: NoChoice, spoil: edit(func(r *formats.Trajectory) { r.Calls[0].Target = false })},
		{reason: NoTokenIDs, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].TokenIDs = nil })},
		{reason: TokenCount, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].Logprobs = r.Messages[2].Logprobs[:1] })},
		{reason: TokenCount, spoil: edit(func(r *formats.Trajectory) { r.Calls[0].CompletionTokens = 3 })},
		{reason: BadLogprob, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].Logprobs[1] = float32(math.NaN()) })},
		{reason: BadLogprob, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].Logprobs[1] = -9999 })},
		{reason: BadLogprob, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].Logprobs[1] = float32(math.Inf(-1)) })},
		{reason: PrefixBreak, spoil: edit(func(r *formats.Trajectory) {
			r.Messages = append(r.Messages, formats.Message{Parent: 2, Role: "user", Call: -1}, sampled(3, 1, 30))
			r.Messages[4].PrefixBreak = "template"
		})},
		{reason: ToolMessage, spoil: edit(func(r *formats.Trajectory) { r.Messages[1].Role = "tool" })},
		{reason: ContentParts, spoil: edit(func(r *formats.Trajectory) { r.Messages[1].ContentParts = `[{"type":"image_url"}]` })},
		{reason: TooLong, limits: Limits{MaxSeqLength: 21}, spoil: edit(func(*formats.Trajectory) {})},
		{reason: BadFinish, spoil: edit(func(r *formats.Trajectory) { r.Messages[2].FinishReason = "abort" })},
		{reason: SharedTurn, spoil: edit(func(r *formats.Trajectory) {
			r.Messages = append(r.Messages, formats.Message{Parent: 2, Role: "user", Call: -1}, sampled(3, 1, 30),
				formats.Message{Parent: 2, Role: "user", Call: -1}, sampled(5, 1, 40))
		})},
		{reason: Branches, limits: Limits{NoHistories: true},
			spoil: edit(func(r *formats.Trajectory) { r.Messages = append(r.Messages, sampled(1, 1, 30)) })},
		{reason: PlainAssistant, spoil: edit(func(r *formats.Trajectory) { r.Messages[1].Role = "assistant" })},
		{reason: PlainToolCalls, spoil: edit(func(r *formats.Trajectory) {
			r.Messages[1].Role, r.Messages[1].ToolCalls = "assistant", []formats.ToolCall{{ID: "c"}}
		})},
		{reason: ToolsDiffer, spoil: edit(func(r *formats.Trajectory) {
			r.ToolSets, r.Calls[1].Tools = []string{`[]`}, 0
			r.Messages = append(r.Messages, sampled(2, 1, 30))
		})},
		{reason: BadTools, spoil: edit(func(r *formats.Trajectory) { r.ToolSets = []string{`{}`} })},
		{reason: ToolsWrapped, limits: Limits{Plain: true},
			spoil: edit(func(r *formats.Trajectory) { r.ToolSets = []string{`[]`} })},
		{reason: PlainToolCalls, limits: Limits{Plain: true},
			spoil: edit(func(r *formats.Trajectory) { r.Messages[2].ToolCalls = []formats.ToolCall{{ID: "c"}} })},
		{reason: PlainAssistant, limits: Limits{Plain: true},
			spoil: edit(func(r *formats.Trajectory) { r.Messages[1].Role = "assistant" })},
	} {
		found[c.reason] = true
		if got := reasons(c.spoil(exportGroup()), c.limits); !slices.Contains(got, c.reason) {
			t.Errorf("%s: found %v", c.reason, got)
		}
	}
	for _, r := range Reasons {
		if !found[r] {
			t.Errorf("reason %s has no case", r)
		}
	}
	if got := reasons(exportGroup(), Limits{}); got != nil {
		t.Errorf("a sound group: %v", got)
	}
}

// edit changes every member, so that nothing else is wrong with the group.
func edit(spoil func(*formats.Trajectory)) func([]formats.Trajectory) []formats.Trajectory {
	return func(rows []formats.Trajectory) []formats.Trajectory {
		for i := range rows {
			spoil(&rows[i])
		}
		return rows
	}
}

func TestPlainAssistantsAreSentWhenAccepted(t *testing.T) {
	rows := edit(func(r *formats.Trajectory) { r.Messages[1].Role = "assistant" })(exportGroup())
	if got := reasons(rows, Limits{PlainAssistants: true}); got != nil {
		t.Error(got)
	}
}

// TestEachSampledTokenTrainsOnce reads random trees, some with branches, as ART
// would, and counts the trained tokens.
func TestEachSampledTokenTrainsOnce(t *testing.T) {
	for rows := range randomtest.Trajectories(7,
		randomtest.Options{Groups: 20, Generations: 4, Messages: 6, SampledTokens: 60, PromptTokens: 30, Scored: true,
			Branches: 0.5}) {
		for i := range rows {
			r := &rows[i]
			refused := false
			sequences := Sequences(r, func(reason, _ string, _ ...any) { refused = refused || reason == SharedTurn })
			if refused {
				continue
			}
			times := make([]int, len(r.Messages))
			for _, s := range sequences {
				for _, m := range s.Path[:s.last+1] {
					times[m]++
				}
			}
			for m := range r.Messages {
				if r.Trained(m) && times[m] != 1 {
					t.Fatalf("%s: message %d trains %d times", r.TrajectoryID, m, times[m])
				}
			}
		}
	}
}

func TestBranchesBecomeHistories(t *testing.T) {
	rows := edit(func(r *formats.Trajectory) {
		r.Messages = append(r.Messages, formats.Message{Parent: -1, Role: "user", Content: "sub-agent", Call: -1},
			sampled(3, 1, 30))
	})(exportGroup())
	if got := reasons(rows, Limits{}); got != nil {
		t.Fatal(got)
	}
	g := decode(t, AppendGroup(nil, rows))
	var ids []string
	for _, h := range append([]wiretest.History{g.Trajectories[0].History}, g.Trajectories[0].AdditionalHistories...) {
		for _, e := range h.Entries {
			if e.Choice != nil {
				for _, token := range e.Choice.Logprobs.Content {
					ids = append(ids, token.Token)
				}
			}
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"token_id:0", "token_id:1", "token_id:30", "token_id:31"}) {
		t.Error(ids)
	}
}

func decode(t *testing.T, data []byte) wiretest.Group {
	t.Helper()
	if strings.ContainsAny(string(data), "\n\r") {
		t.Error("a group is more than one line")
	}
	var g wiretest.Group
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return g
}

func TestChoicesHoldTheSampledTokens(t *testing.T) {
	rows := edit(func(r *formats.Trajectory) {
		r.ToolSets = []string{"[\n{\"type\":\"function\",\"function\":{\"name\":\"search\"}}]"}
		r.Calls[0].Tools = 0
		r.Messages[1].ContentParts = `[{"type":"text","text":"your"},{"type":"text","text":"move"}]`
		r.Messages[2].ToolCalls = []formats.ToolCall{{ID: "c1", Name: "search", Arguments: `{"q":"\u0001"}`}}
		r.Messages[2].Content = "quote \" slash \\ tab \t null \x00 bad \xff é"
		r.Messages[2].Logprobs[1] = float32(math.Inf(-1))
		r.Rewards = []formats.NamedReward{{Name: "win", Value: pointer(1)}, {Name: "lost"}}
	})(exportGroup())
	got := decode(t, AppendGroup(nil, rows)).Trajectories[1]
	choice := got.Entries[2].Choice
	if choice == nil || got.Entries[1].Message.Content != "your\nmove" {
		t.Fatalf("%+v", got.Entries)
	}
	if choice.Message.Content != "quote \" slash \\ tab \t null \x00 bad \ufffd é" ||
		choice.Message.ToolCalls[0].Function.Arguments != `{"q":"\u0001"}` {
		t.Errorf("%+v", choice.Message)
	}
	first, last := choice.Logprobs.Content[0], choice.Logprobs.Content[1]
	if first.Token != "token_id:10" || float32(first.Logprob) != -0.11 || first.Bytes != nil ||
		first.TopLogprobs == nil {
		t.Errorf("%+v", first)
	}
	if last.Logprob != floor {
		t.Errorf("minus infinity became %g", last.Logprob)
	}
	if got.Metadata["scenario_id"] != "e-1" || got.Metadata["trajectory_id"] != "t-1" || *got.Reward != 1 ||
		got.Metrics["win"] != 1.0 || len(got.Metrics) != 1 {
		t.Errorf("%+v", got)
	}
	if string(got.Tools) != `[{"type":"function","function":{"name":"search"}}]` {
		t.Errorf("tools %s", got.Tools)
	}
}

func TestTokenBytesAreNumbers(t *testing.T) {
	data, err := json.Marshal(wiretest.Token{Token: "token_id:5", Bytes: []int{101, 52}})
	if err != nil || !strings.Contains(string(data), `"bytes":[101,52]`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestStringsAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		var got string
		if err := json.Unmarshal(jsontext.AppendText(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(want,
			"\ufffd", "") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestAdvantagesAreART(t *testing.T) {
	if got := Advantages([]float64{1, 0, 0, 0}, true); math.Abs(got[0]-1.7320468) > 1e-6 ||
		math.Abs(got[1]+0.5773489) > 1e-6 {
		t.Error(got)
	}
	if got := Advantages([]float64{1, 0}, false); got[0] != 0.5 {
		t.Error(got)
	}
	d := Drift{Scale: true}
	rows := exportGroup()
	for i, a := range Advantages([]float64{0, 1}, true) {
		rows[i].Advantage = &a
	}
	d.Add(rows)
	if d.Notes() != nil {
		t.Error(d.Notes())
	}
	rows[0].Advantage = pointer(-2) // as if a third member had been dropped
	d.Add(rows)
	if notes := d.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "in 1 of 2 groups") {
		t.Error(notes)
	}
}

func BenchmarkAppendGroup(b *testing.B) {
	rows := randomtest.Group(1, 0, randomtest.Options{Scored: true})
	var buf []byte
	for b.Loop() {
		buf = AppendGroup(buf[:0], rows)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
}
