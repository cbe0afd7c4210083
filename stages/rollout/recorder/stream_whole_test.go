package recorder_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// TestAfterHolesInAStreamsLogprobsTheEngineIsAskedWhole: the attempt with the holes fails and says so; the next ones lose
// nothing, and their agents get streams, with pings while the engine is silent.
func TestAfterHolesInAStreamsLogprobsTheEngineIsAskedWhole(t *testing.T) {
	bare := func(delta string) string {
		return strings.ReplaceAll(chunk(delta, 9), `"logprobs":{"content":[{"logprob":-1}]},"token_ids":[9]`, `"logprobs":null`)
	}
	text := func(s string) string { // of completions
		return strings.NewReplacer(`"delta":{"content":"one"}`, `"text":"one"`, `"delta":{}`, `"text":""`, `"delta":{"role":"assistant","content":""}`, `"text":""`,
			`{"content":[{"logprob":-1}]}`, `{"tokens":["x"],"token_logprobs":[-1]}`).Replace(s)
	}
	said := chunk(`{"content":"one"}`, 3)
	tools := list{fields{"type": "function", "function": fields{"name": "f"}}}
	refuse := func(w http.ResponseWriter) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"code":400,"message":"logprobs is not supported with tools + stream"}}`)
	}
	events := func(all ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { begins(w); says(w, all...) }
	}
	for name, c := range map[string]struct {
		stream func(http.ResponseWriter)
		class  string // of the first attempt; "" if it loses nothing
		text   bool
	}{
		"reasoning without logprobs, as SGLang": {events(role, bare(`{"reasoning_content":"hm"}`), said, ending("stop", 2)), outcomes.FailLogprobMismatch, false},
		"a lost chunk of control tokens":        {events(role, said, ending("tool_calls", 4)), outcomes.FailLogprobMismatch, false},
		"the end mark's":                        {events(role, said, ending("stop", 2)), outcomes.FailLogprobMismatch, false},
		"none":                                  {events(role, bare(`{"content":"one"}`), ending("stop", 1)), outcomes.FailNoLogprobs, false},
		"llama-server": {func(w http.ResponseWriter) {
			w.Header().Set("Server", "llama.cpp")
			begins(w)
			says(w, role, said, ending("stop", 2))
		}, "", false},
		"refused":     {refuse, "", false},
		"completions": {events(text(role), text(said), text(ending("stop", 2))), outcomes.FailLogprobMismatch, true},
	} {
		t.Run(name, func(t *testing.T) {
			var streams []string
			silent := make(chan bool)
			whole := `{"id":"c2","object":"chat.completion","model":"policy","prompt_token_ids":[1,2],
 "choices":[{"index":0,"message":{"role":"assistant","content":"one","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[{"logprob":-1},{"logprob":-2}]},"token_ids":[3,4],"finish_reason":"tool_calls"}],
 "usage":{"prompt_tokens":2,"completion_tokens":2}}`
			if c.text {
				whole = `{"id":"c2","object":"text_completion","model":"policy","prompt_token_ids":[1,2],"choices":[{"index":0,"text":"one","logprobs":{"tokens":["x","y"],"token_logprobs":[-1,-2]},"token_ids":[3,4],"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}`
			}
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var q map[string]json.RawMessage
				json.NewDecoder(r.Body).Decode(&q)
				streams = append(streams, string(q["stream"]))
				if string(q["stream"]) == "true" {
					c.stream(w)
					return
				}
				if q["stream_options"] != nil {
					t.Error("a whole answer is asked for with stream_options")
				}
				<-silent
				io.WriteString(w, whole)
			}))
			defer engine.Close()
			r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}, PingEvery: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			path, ask := "/chat/completions", fields{"model": "policy", "stream": true, "messages": list{user("hi")}, "tools": tools}
			if c.text {
				path, ask = "/completions", fields{"model": "policy", "stream": true, "prompt": "hi"}
			}
			if c.class != "" {
				s := r.Begin(context.Background(), "t0", "g")
				open(t, s, path, ask).rest()
				if rec := s.End(); rec.Untrainable == nil || rec.Untrainable.Class != c.class || !strings.HasSuffix(rec.Untrainable.Text, "from now on this engine is asked for whole answers, which agents get as streams") {
					t.Errorf("%v %v", rec.Untrainable, rec.LastCall)
				}
			}
			for _, usage := range []bool{false, true} {
				s := r.Begin(context.Background(), "t", "g")
				ask["stream_options"] = fields{"include_usage": usage}
				a := open(t, s, path, ask)
				a.until(": ping")
				silent <- true
				out := a.until("[DONE]")
				rec := s.End()
				if rec.Untrainable != nil || rec.LastCall != nil || len(rec.Messages) != 2 || len(rec.Messages[1].TokenIDs) != 2 || len(rec.Messages[1].PromptDeltaIDs) != 2 {
					t.Fatalf("%v %v %v", rec.Untrainable, rec.LastCall, outlines(rec))
				}
				checkRow(t, rec)
				got, finish, used := read(t, out)
				want, end := "hm one f{}", "tool_calls"
				if c.text {
					want, end = " one ", "stop"
				}
				if got != want || finish != end || used != usage {
					t.Errorf("the agent got %q, finish %q, usage %v: %s", got, finish, used, out)
				}
				for _, hidden := range []string{"token_ids", `"logprob":`, "token_logprobs"} {
					if strings.Contains(out, hidden) {
						t.Errorf("the agent sees %s: %s", hidden, out)
					}
				}
			}
			lost := "true false false"
			if got := strings.Join(streams, " "); got != lost {
				t.Errorf("asked %s, want %s", got, lost)
			}
		})
	}
}

// TestAWholeAnswerThatFailsAfterAPing is an error in the agent's stream.
func TestAWholeAnswerThatFailsAfterAPing(t *testing.T) {
	silent := make(chan bool)
	s := engineOf(t, recorder.Options{PingEvery: time.Millisecond}, func(_ int, q map[string]json.RawMessage, w http.ResponseWriter, _ *http.Request) {
		if w.WriteHeader(400); string(q["stream"]) == "true" {
			io.WriteString(w, `{"error":{"message":"no logprobs with stream"}}`)
			return
		}
		<-silent
		io.WriteString(w, `{"error":{"message":"it is too hot"}}`)
	})
	a := open(t, s, "/chat/completions", fields{"model": "policy", "stream": true, "messages": list{user("hi")}})
	a.until(": ping")
	silent <- true
	if out := a.until(`data: {"error":{"message":"it is too hot","type":"invalid_request_error"}}`); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, out)
	}
	if rec := s.End(); rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngineRefused {
		t.Error(rec.LastCall)
	}
}

// TestAWholeAnswerToAStream of an engine that does not stream reaches the agent as one.
func TestAWholeAnswerToAStream(t *testing.T) {
	_, s := play(t, said(`{"role":"assistant","content":"one"}`, "[1,2]", 7))
	_, out := ask(t, s, fields{"model": "policy", "stream": true}, user("hi"))
	if got, finish, _ := read(t, string(out)); got != " one " || finish != "stop" {
		t.Errorf("%s", out)
	}
	if rec := s.End(); rec.Untrainable != nil || len(rec.Messages[1].TokenIDs) != 1 {
		t.Error(rec.Untrainable, outlines(rec))
	}
}

// read puts a stream together as clients do: reasoning, text and calls.
func read(t *testing.T, stream string) (said, finish string, usage bool) {
	t.Helper()
	var parts [3]string
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Object  string
			Usage   *struct{}
			Choices []struct {
				Text  string
				Delta struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Index    *int
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil || c.Object != "chat.completion.chunk" && c.Object != "text_completion" {
			t.Errorf("%v in %q", err, data)
		}
		usage = usage || c.Usage != nil
		for _, one := range c.Choices {
			parts[0] += one.Delta.Reasoning
			parts[1] += one.Text + one.Delta.Content
			for _, call := range one.Delta.ToolCalls {
				if call.Index == nil {
					t.Errorf("a call without an index: %s", data)
				}
				parts[2] += call.Function.Name + call.Function.Arguments
			}
			finish += one.FinishReason
		}
	}
	return strings.Join(parts[:], " "), finish, usage
}
