package otel_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/otel"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// example is a trajectory with two calls, a tool, a failed component and an image.
func example() formats.Trajectory {
	value, total := 0.5, 0.25
	return formats.Trajectory{
		TrajectoryID: "t-1", Run: "demo", ExampleID: "e-1", Epoch: 3, Generation: 2, Status: outcomes.StatusOK,
		StopReason: outcomes.StopDone, Model: "policy",
		StartedAt: 1_000_000, FinishedAt: 11_000_000, Reward: &total,
		Rewards: []formats.NamedReward{{Name: "solved", Value: &value, Weight: 0.5},
			{Name: "style", Weight: 1, Failure: outcomes.RewardCrashed}},
		ToolSets: []string{`[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}]`},
		Messages: []formats.Message{
			{Parent: -1, Role: "system", Content: "be brief", Call: -1},
			{Parent: 0, Role: "user", Content: "1 + 2?", Call: -1},
			{Parent: 1, Role: "assistant", Reasoning: "the tool knows", Sampled: true, Call: 0, FinishReason: "tool_calls",
				ToolCalls: []formats.ToolCall{{ID: "c1", Name: "add", Arguments: `{"a":1,"b":2}`}}},
			{Parent: 2, Role: "tool", Content: "3", ToolCallID: "c1", Call: -1},
			{Parent: 3, Role: "assistant", Content: "3", Sampled: true, Call: 1, FinishReason: "stop"},
		},
		Calls: []formats.Call{
			{Model: "policy-3", Target: true, Tools: 0, PromptTokens: 20, CompletionTokens: 5, CachedTokens: 4,
				LatencyMS: 2000, Endpoint: "https://engine.example/v1",
				Sampling: `{"temperature":0.5,"max_tokens":100,"stop":"x","logprobs":true,"seed":7}`},
			{Model: "policy-3", Target: true, Tools: -1, PromptTokens: 30, CompletionTokens: 1, LatencyMS: 4000, Sampling: `{}`},
		},
	}
}

func TestSpans(t *testing.T) {
	row := example()
	spans := otel.Spans(&row, true, func(part string) { t.Errorf("lost %s", part) })
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
		if !bytes.Equal(s.TraceID, spans[0].TraceID) || len(s.TraceID) != 16 || len(s.SpanID) != 8 {
			t.Errorf("%s has the trace %x and the id %x", s.Name, s.TraceID, s.SpanID)
		}
	}
	if diff := compare.Diff([]string{"invoke_agent", "chat policy", "execute_tool add", "chat policy"},
		names); diff != "" {
		t.Error(diff)
	}
	for i, want := range [][2]otel.Nanos{{1e9, 11e9}, {1e9, 3e9}, {3e9, 5e9}, {5e9, 9e9}} { // pauses of 2 s
		if got := [2]otel.Nanos{spans[i].Start, spans[i].End}; got != want {
			t.Errorf("%s took %v, want %v", spans[i].Name, got, want)
		}
	}
	got := map[string]any{}
	for _, a := range spans[1].Attributes {
		got[a.Key] = a.Value
	}
	for key, want := range map[string]any{
		"gen_ai.request.model": "policy", "gen_ai.response.model": "policy-3", "gen_ai.request.temperature": 0.5,
		"gen_ai.request.max_tokens": int64(100),
		"gen_ai.request.seed":       int64(7), "server.address": "engine.example", "server.port": int64(443),
		"gen_ai.usage.input_tokens":            int64(20),
		"gen_ai.usage.cache_read.input_tokens": int64(4),
		"gen_ai.output.messages":               `[{"role":"assistant","parts":[{"type":"reasoning","content":"the tool knows"},{"type":"tool_call","id":"c1","name":"add","arguments":{"a":1,"b":2}}],"finish_reason":"tool_call"}]`,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// TestContent: what a model read or wrote is in a trace only if the user wants it.
func TestContent(t *testing.T) {
	row := example()
	data, err := jsontext.Append(nil, otel.Request{Spans: otel.Spans(&row, false, nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"be brief", "1 + 2", "the tool knows", "arguments", "messages", "definitions"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the trace has %q: %s", secret, data)
		}
	}
}

// TestFailure: a failed trajectory and a failed call have the status of an error.
func TestFailure(t *testing.T) {
	row := example()
	row.Status, row.FailureClass, row.Error = outcomes.StatusFailed, outcomes.FailEngine, "the engine was gone"
	row.Calls[1].Error = "502 bad gateway"
	spans := otel.Spans(&row, false, nil)
	for i, want := range map[int]string{0: "the engine was gone", 3: "502 bad gateway"} {
		if spans[i].Status == nil || spans[i].Status.Code != 2 || spans[i].Status.Message != want {
			t.Errorf("%s has the status %v", spans[i].Name, spans[i].Status)
		}
	}
	if a := spans[0].Attributes[len(spans[0].Attributes)-1]; a != (otel.Attribute{Key: "error.type", Value: "engine"}) {
		t.Errorf("the type of the error is %v", a)
	}
	if spans[1].Status != nil {
		t.Error("a call without an error has the status of one")
	}
}

// TestImported exports trajectories and imports the traces: conversations, calls and
// rewards are the same, with branches and failures among them.
func TestImported(t *testing.T) {
	one := []formats.Trajectory{example()}
	groups := append(slices.Collect(randomtest.Trajectories(3,
		randomtest.Options{Groups: 20, Scored: true, Branches: 0.3, SampledTokens: 50, PromptTokens: 50})), one)
	branched := 0
	for _, rows := range groups {
		for i := range rows {
			t.Run(rows[i].TrajectoryID, func(t *testing.T) { again(t, &rows[i]) })
			if len(rows[i].Leaves()) > 1 {
				branched++
			}
		}
	}
	if branched == 0 {
		t.Error("no trajectory has a branch")
	}
}

func again(t *testing.T, row *formats.Trajectory) {
	data, err := jsontext.AppendLine(nil, otel.Request{Spans: otel.Spans(row, true, nil)})
	if err != nil {
		t.Fatal(err)
	}
	options := importers.Options{Map: map[string]string{"example_id": "rollmill.example_id"}}
	f := importers.File{Name: "x.jsonl", R: bytes.NewReader(data), Size: int64(len(data)), Options: &options}
	n := 0
	for r, err := range otel.Importer.Records.All(f) {
		if err != nil {
			t.Fatal(err)
		}
		items, err := otel.Importer.Parse(&r)
		if err != nil || len(items) != 1 {
			t.Fatalf("%d trajectories: %v", len(items), err)
		}
		n++
		if diff := compare.Diff(seen(row), seen(&items[0].Row)); diff != "" {
			t.Error(diff)
		}
	}
	if n != 1 {
		t.Errorf("%d traces", n)
	}
}

// view is what a trace and a trajectory have in common.
type view struct {
	Example  string
	Paths    []string
	Calls    []formats.Call
	Rewards  map[string]float64
	Reward   *float64
	Failed   bool
	Began    int64
	Finished int64
}

func seen(t *formats.Trajectory) view {
	v := view{Example: t.ExampleID, Reward: t.Reward, Rewards: map[string]float64{},
		Failed: t.Status == outcomes.StatusFailed, Began: t.StartedAt, Finished: t.FinishedAt}
	for i := range t.Messages {
		m := &t.Messages[i]
		var b strings.Builder
		for _, at := range t.Path(i) {
			b.WriteString(cmp.Or(t.Messages[at].Role, "-") + ": " + t.Messages[at].Content + t.Messages[at].Reasoning +
				t.Messages[at].ToolCallID)
			for _, c := range t.Messages[at].ToolCalls {
				b.WriteString(" " + c.ID + c.Name + c.Arguments)
			}
			b.WriteByte('\n')
		}
		v.Paths = append(v.Paths, b.String()+m.FinishReason)
	}
	slices.Sort(v.Paths)
	for _, c := range t.Calls {
		v.Calls = append(v.Calls,
			formats.Call{PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens, CachedTokens: c.CachedTokens})
	}
	for _, r := range t.Rewards {
		if r.Value != nil && r.Name != "reward" {
			v.Rewards[r.Name] = *r.Value
		}
	}
	return v
}

func TestSkipsEmpty(t *testing.T) {
	skipped := ""
	sink := otel.Exporter.Lines(&bytes.Buffer{})
	if err := sink.Give(&exporters.Item{Rows: make([]formats.Trajectory, 1),
		Skip: func(reason string) { skipped = reason }}); err != nil || skipped != "no_messages" || sink.Rows() != 0 {
		t.Errorf("%d rows, skipped for %q: %v", sink.Rows(), skipped, err)
	}
}
