package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	joining "github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/pipelines/convert/calls/callstest"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// tape is an engine that answers with bodies in turn, as engines write them.
type tape struct {
	bodies []string
	status []int // of the bodies, in turn; 200 for the rest
	asked  []map[string]json.RawMessage
	paths  []string
}

func (p *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var q map[string]json.RawMessage
	json.Unmarshal(data, &q)
	body, status := p.bodies[len(p.asked)], http.StatusOK
	if len(p.asked) < len(p.status) {
		status = p.status[len(p.asked)]
	}
	p.asked, p.paths = append(p.asked, q), append(p.paths, r.URL.Path)
	kind := "application/json"
	if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// play starts a recorder in front of a tape.
func play(t *testing.T, bodies ...string) (*tape, *recorder.Session) {
	t.Helper()
	return playAs(t, "policy", &tape{bodies: bodies})
}

// playAs starts a recorder in front of a tape of a model.
func playAs(t *testing.T, model string, p *tape) (*tape, *recorder.Session) {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{server.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: model, Sampling: fields{"max_tokens": 64}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return p, r.Begin(context.Background(), "t", "g")
}

// outline is a message in a line.
func outline(m formats.Message) string {
	out := fmt.Sprintf("%d %s", m.Parent, m.Role)
	for _, part := range []struct{ name, text string }{{"", m.Content}, {"parts ", m.ContentParts}, {"thinks ", m.Reasoning}, {"answers ", m.ToolCallID},
		{"branch ", m.Branch}, {"ends ", m.FinishReason}, {"break ", m.PrefixBreak}} {
		if part.text != "" {
			out += fmt.Sprintf(" | %s%s", part.name, part.text)
		}
	}
	for _, c := range m.ToolCalls {
		out += fmt.Sprintf(" | calls %s %s%s", c.ID, c.Name, c.Arguments)
	}
	if m.Sampled {
		out += fmt.Sprintf(" | %v %v after %v", m.TokenIDs, m.Logprobs, m.PromptDeltaIDs)
	}
	return out
}

func outlines(rec recorder.Record) (out []string) {
	for _, m := range rec.Messages {
		out = append(out, outline(m))
	}
	return out
}

// checkRow holds a record, as a row, to what every dataset must keep.
func checkRow(t *testing.T, rec recorder.Record) {
	t.Helper()
	if row := validRow(t, rec); len(row.Calls) > 0 {
		checkCalls(t, row)
	}
}

// validRow holds the row of a record to what every row must be.
func validRow(t *testing.T, rec recorder.Record) formats.Trajectory {
	t.Helper()
	row := formats.Trajectory{TrajectoryID: "t", Run: "r", ExampleID: "e", Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Messages: rec.Messages, Calls: rec.Calls, ToolSets: rec.ToolSets, TokenSource: rec.TokenSource}
	for i := range row.Calls {
		row.PromptTokens += row.Calls[i].PromptTokens
		row.CompletionTokens += row.Calls[i].CompletionTokens
	}
	for i := range row.Messages {
		if row.Trained(i) {
			row.SampledTokens += int32(len(row.Messages[i].Logprobs))
		}
	}
	row.SetPayloadDigest()
	for _, p := range validate.Trajectory(&row) {
		t.Errorf("as a row: %v", p)
	}
	return row
}

// checkCalls takes a recorded row apart into its calls, and joins them again.
func checkCalls(t *testing.T, row formats.Trajectory) {
	t.Helper()
	apart, err := callstest.Explode("t", &row, 1)
	if err != nil {
		t.Errorf("as calls: %v", err)
		return
	}
	callstest.Marked(apart)
	slices.Reverse(apart.Calls)
	got, _, err := callstest.Join(t.Context(), apart.Calls, true, joining.Options{Train: true, Dir: t.TempDir(), Memory: 1 << 20})
	if slices.Reverse(apart.Calls); err != nil {
		t.Errorf("as calls: %v", err)
	}
	for _, wrong := range callstest.CheckSessions([]*callstest.Recorded{apart}, got) {
		t.Errorf("as calls: %s", wrong)
	}
}

const usage2 = `"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`

var tapes = map[string]struct {
	path    string
	request fields
	body    string
	want    []string // messages
	seen    string   // by the agent; "" for the body itself
	source  string
}{
	"two choices": {
		"/chat/completions", fields{"n": 2, "messages": []fields{user("hi")}},
		`{"id":"x","model":"policy","prompt_token_ids":[1,2,3],"choices":[{"index":1,"message":{"role":"assistant","content":"b"},"logprobs":{"content":[{"token":"b","logprob":-2}]},"finish_reason":"stop","token_ids":[8]},{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":"length","token_ids":[7],"stop_reason":null}],` + usage2 + `,"new_thing":{"a":[]}}`,
		[]string{"-1 user | hi", "0 assistant | a | ends length | [7] [-1] after [1 2 3]",
			"0 assistant | b | branch choice | ends stop | [8] [-2] after [1 2 3]"},
		`{"id":"x","model":"policy","choices":[{"index":1,"message":{"role":"assistant","content":"b"},"logprobs":null,"finish_reason":"stop"},{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":null,"finish_reason":"length","stop_reason":null}],` + usage2 + `,"new_thing":{"a":[]}}`,
		schema.TokensChoice,
	},
	"two choices, streamed": {
		"/chat/completions", fields{"n": 2, "stream": true, "messages": []fields{user("hi")}},
		`data: {"model":"policy","prompt_token_ids":[1,2,3],"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"model":"policy","choices":[{"index":1,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b","logprob":-2}]},"token_ids":[8]}]}

data: {"model":"policy","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"token_ids":[7],"finish_reason":"stop"}]}

data: {"model":"policy","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}

data: {"model":"policy","choices":[],` + usage2 + `}

data: [DONE]

`,
		[]string{"-1 user | hi", "0 assistant | a | ends stop | [7] [-1] after [1 2 3]",
			"0 assistant | b | branch choice | ends stop | [8] [-2] after [1 2 3]"},
		`data: {"model":"policy","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"model":"policy","choices":[{"index":1,"delta":{"content":"b"},"logprobs":null}]}

data: {"model":"policy","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":"stop"}]}

data: {"model":"policy","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`,
		schema.TokensChoice,
	},
	"parallel tool calls and reasoning": {
		"/chat/completions", fields{"parallel_tool_calls": true, "tools": []fields{{"type": "function", "function": fields{"name": "f"}}},
			"messages": []fields{user("hi")}},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning":"hm","reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[{"token":"token_id:5","logprob":-1},{"token":"token_id:6","logprob":0}]},"finish_reason":"tool_calls"}],` + usage2 + `}`,
		[]string{"-1 user | hi", `0 assistant | thinks hm | ends tool_calls | calls 1 f{"a": 1} | calls 2 f{} | [5 6] [-1 0] after []`},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning":"hm","reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` + usage2 + `}`,
		schema.TokensInLogprobs,
	},
	"refusal": {
		"/chat/completions", fields{"messages": []fields{user("hi")}},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"no"},"logprobs":{"content":null,"refusal":[{"token":"n","logprob":-1,"id":3},{"token":"o","logprob":-2,"id":4}]},"finish_reason":"stop"}],` + usage2 + `}`,
		[]string{"-1 user | hi", `0 assistant | parts [{"refusal":"no","type":"refusal"}] | ends stop | [3 4] [-1 -2] after []`},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"no"},"logprobs":null,"finish_reason":"stop"}],` +
			usage2 + `}`,
		schema.TokensEntryID,
	},
	"refusal, streamed": {
		"/chat/completions", fields{"stream": true, "messages": []fields{user("hi")}},
		"data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"n\"},\"logprobs\":{\"refusal\":[{\"logprob\":-1}]}}]}\n\ndata: " +
			"{\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"o\"},\"logprobs\":{\"refusal\":[{\"logprob\":-2}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		[]string{"-1 user | hi", `0 assistant | parts [{"refusal":"no","type":"refusal"}] | ends stop | [] [-1 -2] after []`},
		"data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"n\"},\"logprobs\":null}]}\n\ndata: " +
			"{\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"o\"},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"",
	},
	"NeMo's tokens in a stream's last piece": {
		"/chat/completions", fields{"stream": true, "messages": []fields{user("hi")}},
		"data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"yes\"}}]}\n\ndata: " +
			"{\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"prompt_token_ids\":[1,2],\"generation_token_ids\":[5,6],\"generation_log_probs\":[-1,-2]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		[]string{"-1 user | hi", "0 assistant | yes | ends stop | [5 6] [-1 -2] after [1 2]"}, "", schema.TokensMessage,
	},
	"image by reference": {
		"/chat/completions", fields{"messages": []fields{{"role": "user",
			"content": []fields{{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": fields{"url": "https://example.org/a.png"}}}}}},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a cat"},"logprobs":{"content":[{"logprob":-1},{"logprob":-1}]},"finish_reason":"stop"}],` + usage2 + `}`,
		[]string{`-1 user | parts [{"text":"what is this?","type":"text"},{"image_url":{"url":"https://example.org/a.png"},"type":"image_url"}]`,
			"0 assistant | a cat | ends stop | [] [-1 -1] after []"},
		`{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"a cat"},"logprobs":null,"finish_reason":"stop"}],` + usage2 + `}`,
		"",
	},
	"completion": {
		"/completions", fields{"prompt": "Once", "x_unknown": 1},
		`{"object":"text_completion","model":"policy","choices":[{"index":0,"text":" upon","logprobs":{"text_offset":[0,3],"token_logprobs":[-0.5,-1],"tokens":["token_id:11","token_id:12"],"top_logprobs":[{}]},"finish_reason":"length","stop_reason":null,"prompt_token_ids":[9],"token_ids":[11,12]}],` + usage2 + `}`,
		[]string{"-1 user | Once", "0 assistant |  upon | ends length | [11 12] [-0.5 -1] after [9]"},
		`{"object":"text_completion","model":"policy","choices":[{"index":0,"text":" upon","logprobs":null,"finish_reason":"length","stop_reason":null}],` +
			usage2 + `}`,
		schema.TokensChoice,
	},
	"completion that asks for logprobs": {
		"/completions", fields{"prompt": []string{"Once"}, "logprobs": 0},
		`{"model":"policy","choices":[{"index":0,"text":" upon","logprobs":{"token_logprobs":[-0.5,-1],"tokens":[" u","pon"]},"finish_reason":"stop"}],` +
			usage2 + `}`,
		[]string{"-1 user | Once", "0 assistant |  upon | ends stop | [] [-0.5 -1] after []"}, "", "",
	},
	"completion of token ids, streamed": {
		"/completions", fields{"prompt": []int{4, 5}, "stream": true},
		"data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"text\":\" " +
			"u\",\"logprobs\":{\"token_logprobs\":[-0.5],\"tokens\":[\"token_id:11\"]},\"finish_reason\":null}]}\n\ndata: " +
			"{\"model\":\"policy\",\"choices\":[{\"index\":0,\"text\":\"pon\",\"logprobs\":{\"token_logprobs\":[-1],\"tokens\":[\"token_id:12\"]},\"finish_reason\":\"stop\"}]}\n\ndata: {\"model\":\"policy\",\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
		[]string{`-1 user | parts [{"type":"token_ids","token_ids":[4,5]}]`, "0 assistant |  upon | ends stop | [11 12] [-0.5 -1] after [4 5]"},
		"data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"text\":\" u\",\"logprobs\":null,\"finish_reason\":null}]}\n\ndata: " +
			"{\"model\":\"policy\",\"choices\":[{\"index\":0,\"text\":\"pon\",\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		schema.TokensInLogprobs,
	},
}

// TestTapes holds what is recorded of one call, and what the agent sees of it,
// to what engines write.
func TestTapes(t *testing.T) {
	for name, c := range tapes {
		t.Run(name, func(t *testing.T) {
			p, s := play(t, c.body)
			q := fields{"model": "policy"}
			for k, v := range c.request {
				q[k] = v
			}
			status, seen := post(t, s.BaseURL()+c.path, q)
			rec := s.End()
			if status != 200 || rec.Untrainable != nil || rec.LastCall != nil || rec.TokenSource != c.source {
				t.Fatalf("%d, unfit %v, last call %v, source %q: %s", status, rec.Untrainable, rec.LastCall, rec.TokenSource, seen)
			}
			if d := cmp.Diff(c.want, outlines(rec)); d != "" {
				t.Error(d)
			}
			checkRow(t, rec)
			if c.seen == "" {
				c.seen = c.body
			}
			if d := cmp.Diff(c.seen, string(seen)); d != "" {
				t.Errorf("the agent sees: %s", d)
			}
			if p.paths[0] != "/v1"+c.path {
				t.Errorf("asked at %s", p.paths[0])
			}
			for k, v := range c.request {
				want, _ := json.Marshal(v)
				if got := string(p.asked[0][k]); got != string(want) && k != "logprobs" {
					t.Errorf("field %s was sent as %s, want %s", k, got, want)
				}
			}
		})
	}
}

// TestTextGoesOn: a prompt that begins with an earlier one and its answer
// continues it, and any other is a beginning of its own.
func TestTextGoesOn(t *testing.T) {
	say := func(text string, prompt, ids string) string {
		return fmt.Sprintf(`{"model":"policy","choices":[{"index":0,"text":%q,"finish_reason":"stop","logprobs":{"token_logprobs":[-1]},"prompt_token_ids":%s,"token_ids":%s}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, text, prompt, ids)
	}
	_, s := play(t, say(" b", "[1]", "[2]"), say(" d", "[1,2,3]", "[4]"), say(" d", "[1,2,3]", "[4]"), say("?", "[1,9]", "[5]"), say("!", "[1,2]", "[6]"))
	for _, prompt := range []string{"a", "a b c", "a b c", "a x", "a b"} {
		if status, body := post(t, s.BaseURL()+"/completions", fields{"model": "policy", "prompt": prompt}); status != 200 {
			t.Fatalf("%s", body)
		}
	}
	rec := s.End()
	want := []string{"-1 user | a", "0 assistant |  b | ends stop | [2] [-1] after [1]",
		"1 user |  c", "2 assistant |  d | ends stop | [4] [-1] after [3]", "2 assistant |  d | branch retry | ends stop | [4] [-1] after [3]",
		"-1 user | a x | branch subagent", "5 assistant | ? | ends stop | [5] [-1] after [1 9]",
		"1 assistant | ! | ends stop | [6] [-1] after []"}
	if d := cmp.Diff(want, outlines(rec)); d != "" {
		t.Error(d)
	}
	if rec.Calls[0].Sampling != `{"api":"completions","max_tokens":64}` {
		t.Errorf("sampling %s", rec.Calls[0].Sampling)
	}
}

// TestOnlyWhatIsTrainedIsAskedForLogprobs, in the way of the API by which the
// engine is asked.
func TestOnlyWhatIsTrainedIsAskedForLogprobs(t *testing.T) {
	bare := map[string]string{
		"/chat/completions": `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`,
		"/completions":      `{"choices":[{"index":0,"text":"a","logprobs":{"token_logprobs":[-1]},"finish_reason":"stop"}]}`,
	}
	bare["/responses"] = bare["/chat/completions"]
	asks := map[string][2]string{"/chat/completions": {"logprobs", "true"}, "/completions": {"logprobs", "1"}, "/responses": {"logprobs", "true"}}
	for path, body := range bare {
		p, s := play(t, body, body)
		for _, model := range []string{"policy", "judge"} {
			q := fields{"model": model, "messages": []fields{user("hi")}, "input": "hi", "include": []string{"file_search_call.results"}}
			if path == "/completions" {
				q["prompt"] = "hi"
			}
			if status, out := post(t, s.BaseURL()+path, q); status != 200 {
				t.Fatalf("%s: %s", path, out)
			}
		}
		if rec := s.End(); rec.Untrainable != nil || len(rec.Calls) != 2 {
			t.Errorf("%s: %v", path, rec.Untrainable)
		}
		field := asks[path]
		if got := string(p.asked[0][field[0]]); got != field[1] {
			t.Errorf("%s: %s was sent as %s", path, field[0], got)
		}
		if got := string(p.asked[1][field[0]]); got == field[1] || p.asked[1]["return_token_ids"] != nil {
			t.Errorf("%s: a call that is not trained was asked for %s", path, got)
		}
		if string(p.asked[0]["max_tokens"]) != "64" {
			t.Errorf("%s: %v", path, p.asked[0])
		}
	}
}

func TestRequestsThatCannotBeRecorded(t *testing.T) {
	_, s := play(t)
	for path, bodies := range map[string][]string{
		"/completions":      {`{}`, `{"prompt":["a","b"]}`, `{"prompt":[[1],[2]]}`, `{"prompt":null}`, `{`},
		"/responses":        {`{}`, `{"input":7}`},
		"/chat/completions": {`{}`, `{"messages":"hi"}`},
		"/messages": {`{}`, `{"messages":7}`, `{"messages":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{"messages":[],"mcp_servers":[{}]}`,
			`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","data":"JVBE"}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"search_result"}]}]}]}`},
		"/messages/count_tokens": {`{}`, `[`},
	} {
		for _, body := range bodies {
			if status, out := post(t, s.BaseURL()+path, []byte(body)); status != 400 || !strings.Contains(string(out), "invalid_request_error") {
				t.Errorf("%s %s: %d %s", path, body, status, out)
			}
		}
	}
	if rec := s.End(); len(rec.Calls) != 0 || slices.Contains(outlines(rec), "") {
		t.Errorf("%+v", rec.Calls)
	}
}
