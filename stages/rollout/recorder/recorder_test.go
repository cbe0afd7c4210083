package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// record starts a recorder in front of an engine.
func record(t testing.TB, e *recordertest.Engine, change ...func(*recorder.Options)) *recorder.Recorder {
	t.Helper()
	e.Start(t)
	o := recorder.Options{Settings: engines.Settings{Endpoints: []string{e.URL()}, Backoff: time.Millisecond}, Defaults: apis.Defaults{Model: "policy"}}
	for _, c := range change {
		c(&o)
	}
	r, err := recorder.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

type fields = map[string]any

func user(text string) fields      { return fields{"role": "user", "content": text} }
func assistant(text string) fields { return fields{"role": "assistant", "content": text} }

// ask sends a chat request and returns the status and the answer's bytes.
func ask(t testing.TB, s *recorder.Session, q fields, messages ...fields) (int, []byte) {
	t.Helper()
	status, body, err := send(s, q, messages...)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

func send(s *recorder.Session, q fields, messages ...fields) (int, []byte, error) {
	body := fields{"model": "policy", "messages": messages}
	for k, v := range q {
		body[k] = v
	}
	data, _ := json.Marshal(body)
	resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return resp.StatusCode, out, err
}

func content(body []byte) string {
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	json.Unmarshal(body, &a)
	if len(a.Choices) == 0 {
		return ""
	}
	return a.Choices[0].Message.Content
}

// streamed joins the content of a stream.
func streamed(body []byte) string {
	var out strings.Builder
	for _, line := range strings.Split(string(body), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		json.Unmarshal([]byte(data), &c)
		for _, choice := range c.Choices {
			out.WriteString(choice.Delta.Content)
		}
	}
	return out.String()
}

func sampled(rec recorder.Record) (out []formats.Message) {
	for _, m := range rec.Messages {
		if m.Sampled {
			out = append(out, m)
		}
	}
	return out
}

// TestEverySourceOfTokenIDs holds what is recorded to what the engine sampled,
// for each place where engines put token ids, streaming and not.
func TestEverySourceOfTokenIDs(t *testing.T) {
	for _, source := range []string{schema.TokensChoice, schema.TokensResponse, schema.TokensInLogprobs, schema.TokensEntryID,
		schema.TokensMetaInfo, schema.TokensMessage, ""} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", source, stream), func(t *testing.T) {
				e := &recordertest.Engine{Source: source, PromptIDs: true}
				s := record(t, e).Begin(context.Background(), "t", "g")
				ask(t, s, fields{"stream": stream}, user("hello"))
				rec := s.End()
				if rec.Untrainable != nil || rec.LastCall != nil || rec.TokenSource != source {
					t.Fatalf("unfit %v, last call %v, source %q", rec.Untrainable, rec.LastCall, rec.TokenSource)
				}
				got, want := sampled(rec)[0], e.Sampled()[0]
				if source == "" {
					want.IDs = nil
				}
				if !slices.Equal(got.TokenIDs, want.IDs) || !slices.Equal(got.Logprobs, want.Logprobs) ||
					!slices.Equal(got.PromptDeltaIDs, want.Prompt) || got.Content != want.Content {
					t.Errorf("recorded %+v\nsampled %+v", got, want)
				}
				if c := rec.Calls[0]; int(c.PromptTokens) != len(want.Prompt) || int(c.CompletionTokens) != len(want.Logprobs) || c.CachedTokens != 2 {
					t.Errorf("usage %+v", c)
				}
			})
		}
	}
}

// TestTheAgentSeesWhatItAskedFor: nothing that the recorder added, everything
// else as the engine wrote it.
func TestTheAgentSeesWhatItAskedFor(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
	r := record(t, e)
	for _, stream := range []bool{false, true} {
		s := r.Begin(context.Background(), "t", "g")
		_, plain := ask(t, s, fields{"stream": stream, "x_unknown": fields{"a": 1}}, user("hello"))
		for _, gone := range []string{"token_ids", `"logprob"`, `"usage":{"completion`} {
			if strings.Contains(string(plain), gone) && (stream || !strings.HasPrefix(gone, `"usage`)) {
				t.Errorf("stream=%v: the agent sees %s, which it did not ask for: %s", stream, gone, plain)
			}
		}
		if !strings.Contains(string(plain), `"service_note":"unknown field"`) {
			t.Errorf("stream=%v: an unknown field of the answer is gone: %s", stream, plain)
		}
		_, full := ask(t, s, fields{"stream": stream, "logprobs": true, "return_token_ids": true, "stream_options": fields{"include_usage": true}},
			user("hello"))
		for _, there := range []string{"token_ids", `"logprob"`, `"usage":{"completion`, "prompt_token_ids"} {
			if !strings.Contains(string(full), there) {
				t.Errorf("stream=%v: the agent asked for %s: %s", stream, there, full)
			}
		}
		s.End()
	}
	for _, q := range e.Asked() {
		if string(q.Fields["logprobs"]) != "true" || string(q.Fields["return_token_ids"]) != "true" {
			t.Errorf("the engine was not asked for logprobs and ids: %s", q.Fields)
		}
	}
	if got := string(e.Asked()[0].Fields["x_unknown"]); got != `{"a":1}` {
		t.Errorf("an unknown field of the request arrived as %s", got)
	}
	if _, sent := e.Asked()[1].Fields["return_tokens_as_token_ids"]; sent {
		t.Error("an agent that reads logprobs would see ids in place of its tokens' text")
	}
}

// TestDefaultsAndSeeds: the run's sampling fields yield to the agent's, and
// each call has a seed of its own.
func TestDefaultsAndSeeds(t *testing.T) {
	e := &recordertest.Engine{}
	seed := int64(7)
	r := record(t, e, func(o *recorder.Options) {
		o.Sampling, o.Seed = fields{"temperature": 0, "max_tokens": 64, "top_p": 0.9}, &seed
	})
	s := r.Begin(context.Background(), "traj", "g")
	ask(t, s, nil, user("a"))
	ask(t, s, fields{"temperature": 1, "max_completion_tokens": 5}, user("b"))
	ask(t, s, fields{"seed": 3, "top_logprobs": 0}, user("c"))
	rec := s.End()
	if _, sent := e.Asked()[2].Fields["top_logprobs"]; sent {
		t.Error("top_logprobs 0 was sent, which some engines take for no logprobs")
	}
	want := []string{
		fmt.Sprintf(`{"max_tokens":64,"seed":%d,"temperature":0,"top_p":0.9}`, formats.Seed(7, "traj", "call", "0")),
		fmt.Sprintf(`{"max_completion_tokens":5,"seed":%d,"temperature":1,"top_p":0.9}`, formats.Seed(7, "traj", "call", "1")),
		`{"max_tokens":64,"seed":3,"temperature":0,"top_p":0.9}`,
	}
	for i, c := range rec.Calls {
		if c.Sampling != want[i] {
			t.Errorf("call %d: sampling %s, want %s", i, c.Sampling, want[i])
		}
		if got := string(e.Asked()[i].Fields["temperature"]); got == "" {
			t.Errorf("call %d: temperature did not arrive", i)
		}
	}
}

func TestConversationIsOnePath(t *testing.T) {
	for _, stream := range []bool{false, true} {
		e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
		s := record(t, e).Begin(context.Background(), "t", "g")
		q := fields{"stream": stream}
		read := func(body []byte) string {
			if stream {
				return streamed(body)
			}
			return content(body)
		}
		_, one := ask(t, s, q, user("one"))
		_, two := ask(t, s, q, user("one"), assistant(read(one)), user("two"))
		ask(t, s, q, user("one"), assistant(read(one)), user("two"), assistant(read(two)), user("three"))
		rec := s.End()
		if len(rec.Messages) != 6 {
			t.Fatalf("stream=%v: %d messages of a conversation of 6: %+v", stream, len(rec.Messages), rec.Messages)
		}
		for i, m := range rec.Messages {
			if int(m.Parent) != i-1 || m.Branch != "" || m.PrefixBreak != "" {
				t.Errorf("message %d: %+v", i, m)
			}
		}
		// What is stored, joined along the path, is the last prompt and answer.
		var all []int32
		for _, m := range rec.Messages {
			all = append(append(all, m.PromptDeltaIDs...), m.TokenIDs...)
		}
		last := e.Sampled()[2]
		if want := slices.Concat(last.Prompt, last.IDs); !slices.Equal(all, want) {
			t.Errorf("stream=%v: the path's tokens are %v, want %v", stream, all, want)
		}
	}
}

func TestBranches(t *testing.T) {
	e := &recordertest.Engine{}
	s := record(t, e).Begin(context.Background(), "t", "g")
	_, one := ask(t, s, nil, user("one"))
	ask(t, s, nil, user("one"))
	ask(t, s, nil, user("one"), assistant(content(one)), user("two"))
	ask(t, s, nil, user("one"), user("summary of all that"))
	ask(t, s, nil, fields{"role": "system", "content": "another agent"}, user("task"))
	rec := s.End()
	var got []string
	for _, m := range rec.Messages {
		got = append(got, fmt.Sprintf("%s<%d %s", m.Role, m.Parent, m.Branch))
	}
	want := []string{"user<-1 ", "assistant<0 ", "assistant<0 retry", "user<2 ", "assistant<3 ", "user<0 history", "assistant<5 ", "system<-1 subagent",
		"user<7 ", "assistant<8 "}
	// The retry's answer is the same text, so the conversation goes on from the newest of the two.
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestParallelCalls: two calls of one prompt at once are siblings, and say so.
func TestParallelCalls(t *testing.T) {
	both := make(chan struct{}, 2)
	go_ := make(chan struct{})
	e := &recordertest.Engine{Arrived: func(int, recordertest.Request) { both <- struct{}{}; <-go_ }}
	s := record(t, e).Begin(context.Background(), "t", "g")
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := send(s, nil, user("one"))
			done <- err
		}()
	}
	<-both
	<-both
	close(go_)
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	rec := s.End()
	if len(rec.Messages) != 3 || rec.Messages[1].Branch != "" || rec.Messages[2].Branch != tree.BranchParallel {
		t.Errorf("%+v", rec.Messages)
	}
}

// TestPrefixBreaks names the cause when the prompt does not begin with what
// was sampled before.
func TestPrefixBreaks(t *testing.T) {
	t.Run("reasoning left out", func(t *testing.T) {
		e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Reasoning: true}
		s := record(t, e).Begin(context.Background(), "t", "g")
		_, one := ask(t, s, nil, user("one"))
		ask(t, s, nil, user("one"), assistant(content(one)), user("two"))
		rec := s.End()
		if len(rec.Messages) != 4 {
			t.Fatalf("%d messages: the answer that came back without its reasoning was stored twice", len(rec.Messages))
		}
		if rec.Messages[1].Reasoning != "let me see" {
			t.Errorf("reasoning %q", rec.Messages[1].Reasoning)
		}
		m := rec.Messages[3]
		if m.PrefixBreak != tree.BreakReasoning || !slices.Equal(m.PromptDeltaIDs, e.Sampled()[1].Prompt) {
			t.Errorf("break %q with %d ids", m.PrefixBreak, len(m.PromptDeltaIDs))
		}
	})
	t.Run("tool arguments written anew", func(t *testing.T) {
		turn := 0
		e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(recordertest.Request) recordertest.Reply {
			if turn++; turn == 1 {
				return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at": 1,  "b":2}`}}}
			}
			return recordertest.Reply{Content: "done"}
		}}
		s := record(t, e).Begin(context.Background(), "t", "g")
		tools := fields{"tools": []fields{{"type": "function", "function": fields{"name": "look"}}}}
		ask(t, s, tools, user("one"))
		back := fields{"role": "assistant", "content": nil,
			"tool_calls": []fields{{"id": "c1", "type": "function", "function": fields{"name": "look", "arguments": `{"at":1,"b":2}`}}}}
		ask(t, s, tools, user("one"), back, fields{"role": "tool", "tool_call_id": "c1", "content": "seen"})
		rec := s.End()
		if len(rec.Messages) != 4 || rec.Messages[3].PrefixBreak != "" {
			t.Fatalf("%+v", rec.Messages)
		}
		if sent := e.Asked()[1].Messages[1].ToolCalls[0].Arguments; sent != `{"at": 1,  "b":2}` {
			t.Errorf("the engine got %s", sent)
		}
		if c := rec.Messages[1].ToolCalls[0]; c.Arguments != `{"at": 1,  "b":2}` || rec.Messages[2].ToolCallID != "c1" {
			t.Errorf("tool call %+v, answered to %q", c, rec.Messages[2].ToolCallID)
		}
		if len(rec.ToolSets) != 1 || rec.Calls[0].Tools != 0 || rec.Calls[1].Tools != 0 {
			t.Errorf("tool sets %q", rec.ToolSets)
		}
	})
}

func TestStreamedToolCalls(t *testing.T) {
	calls := []formats.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at":"the long way round"}`}, {ID: "c2", Name: "go", Arguments: `{}`}}
	e := &recordertest.Engine{Source: schema.TokensChoice, Script: func(recordertest.Request) recordertest.Reply {
		return recordertest.Reply{Content: "let us look", ToolCalls: calls}
	}}
	s := record(t, e).Begin(context.Background(), "t", "g")
	ask(t, s, fields{"stream": true}, user("one"))
	rec := s.End()
	m := rec.Messages[1]
	if d := cmp.Diff(calls, m.ToolCalls); d != "" || m.Content != "let us look" || m.FinishReason != "tool_calls" {
		t.Errorf("%s %+v", d, m)
	}
}
