package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// chatTape is a tape of chat completions, of which responses are made.
func chatTape(bodies ...string) *tape {
	return &tape{bodies: bodies}
}

// TestAPromptOfResponses is asked as chat completions, with all that those can
// say.
func TestAPromptOfResponses(t *testing.T) {
	p, s := playAs(t, "policy", chatTape(said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)))
	status, out := post(t, s.BaseURL()+"/responses", []byte(`{"model":"policy","max_output_tokens":9,"temperature":0.5,"top_p":0.9,"top_k":4,"top_logprobs":2,
		"metadata":{"a":"b"},"store":false,"truncation":"auto","service_tier":"auto","user":"u","prompt_cache_key":"k","conversation":null,"background":false,
		"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"parallel_tool_calls":false,"instructions":"Be brief.",
		"text":{"verbosity":"low","format":{"type":"json_schema","name":"sum","strict":true,"schema":{"type":"object"}}},
		"tools":[{"type":"function","name":"add","description":"Add.","strict":false,"parameters":{"type":"object", "properties":{}}},{"type":"web_search"},
			{"type":"custom","name":"patch","description":"Patch.","format":{"type":"grammar","syntax":"lark","definition":"start: X"}},
			{"type":"namespace","name":"team","description":"d","tools":[{"type":"function","name":"ask","parameters":{}}]}],
		"tool_choice":{"type":"function","name":"add"},
		"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Add."}]},
			{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,aGk=","detail":"low"}]},
			{"type":"reasoning","id":"r","summary":[],"encrypted_content":"rollmill:aG0="},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I add","annotations":[],"logprobs":[]}]},
			{"type":"function_call","call_id":"t1","name":"add","arguments":"{\"a\": 1}"},{"type":"function_call","call_id":"t2","name":"ask","namespace":"team","arguments":"{}"},
			{"type":"custom_tool_call","call_id":"t3","name":"patch","input":"a < b"},
			{"type":"function_call_output","call_id":"t1","output":"3"},
			{"type":"function_call_output","call_id":"t2","output":[{"type":"input_text","text":"4"},{"type":"input_text","text":"5"},{"type":"input_image","image_url":"http://h/j.png"}]},
			{"type":"custom_tool_call_output","call_id":"t3","output":"done"},
			{"role":"developer","content":"Now."},{"role":"user","content":[{"type":"input_text","text":"and?"}]}]}`))
	if status != 200 {
		t.Fatalf("%d %s", status, out)
	}
	got := fields{}
	for key, raw := range p.asked[0] {
		var v any
		json.Unmarshal(raw, &v)
		got[key] = v
	}
	call := func(id, name, arguments string) fields {
		return fields{"id": id, "type": "function", "function": fields{"name": name, "arguments": arguments}}
	}
	tool := func(function fields) fields { return fields{"type": "function", "function": function} }
	want := fields{"model": "policy", "max_tokens": 9.0, "temperature": 0.5, "top_p": 0.9, "top_k": 4.0, "parallel_tool_calls": false,
		"reasoning_effort": "low",
		"logprobs":         true, "return_token_ids": true, "return_tokens_as_token_ids": true,
		"response_format": fields{"type": "json_schema", "json_schema": fields{"name": "sum", "strict": true, "schema": fields{"type": "object"}}},
		"tools": list{tool(fields{"name": "add", "description": "Add.", "strict": false, "parameters": fields{"type": "object", "properties": fields{}}}),
			tool(fields{"name": "patch", "description": "Patch.\n\nThe input follows this grammar (lark):\nstart: X",
				"parameters": fields{"type": "object", "properties": fields{"input": fields{"type": "string"}}, "required": list{"input"},
					"additionalProperties": false}}),
			tool(fields{"name": "team__ask", "parameters": fields{}})},
		"tool_choice": tool(fields{"name": "add"}),
		"messages": list{fields{"role": "system", "content": "Be brief.\n\nAdd."},
			fields{"role": "user", "content": list{fields{"type": "text", "text": "look"},
				fields{"type": "image_url", "image_url": fields{"url": "data:image/png;base64,aGk=", "detail": "low"}}}},
			fields{"role": "assistant", "content": "I add", "reasoning": "hm",
				"tool_calls": list{call("t1", "add", `{"a": 1}`), call("t2", "team__ask", "{}"), call("t3", "patch", `{"input":"a < b"}`)}},
			fields{"role": "tool", "tool_call_id": "t1", "content": "3"},
			fields{"role": "tool", "tool_call_id": "t2", "content": "4\n5"},
			fields{"role": "user", "content": list{fields{"type": "image_url", "image_url": fields{"url": "http://h/j.png"}}}},
			fields{"role": "tool", "tool_call_id": "t3", "content": "done"},
			fields{"role": "system", "content": "Now."}, user("and?")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	rec := s.End()
	checkRow(t, rec)
	if p.paths[0] != "/v1/chat/completions" || rec.ToolSets[0] != string(p.asked[0]["tools"]) ||
		!strings.Contains(rec.Calls[0].Sampling, `"api":"responses","constrained_by":"tool_choice"`) ||
		!strings.Contains(rec.Calls[0].Sampling, `"tools_left_out":["web_search"]`) {
		t.Errorf("%s %s %s", p.paths[0], rec.ToolSets, rec.Calls[0].Sampling)
	}
}

// TestAnswersAsResponses: each kind of answer, whole and as the stream made of it.
func TestAnswersAsResponses(t *testing.T) {
	answered := func(message, finish string) string {
		return fmt.Sprintf(`{"id":"c1","created":5,"model":"policy@3","choices":[{"index":0,"message":%s,"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":%q,"token_ids":[7]}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`, message, finish)
	}
	called := func(name, arguments string) string {
		text, _ := json.Marshal(arguments)
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":%q,"arguments":%s}}]}`, name, text)
	}
	text := func(status, text string, logprobs ...any) fields {
		return fields{"type": "message", "role": "assistant", "status": status,
			"content": list{fields{"type": "output_text", "text": text, "annotations": list{}, "logprobs": append(list{}, logprobs...)}}}
	}
	thought := fields{"type": "reasoning", "summary": list{}, "content": list{fields{"type": "reasoning_text", "text": "hm"}},
		"encrypted_content": "rollmill:aG0=", "status": "completed"}
	use := func(kind, name, key, value string) fields {
		return fields{"type": kind, "status": "completed", "call_id": "t1", "name": name, key: value}
	}
	inTeam := use("function_call", "ask", "arguments", "{}")
	inTeam["namespace"] = "team"
	for _, c := range []struct {
		answer, end string
		output      list
		logprobs    bool
	}{
		{answered(`{"role":"assistant","content":"a"}`, "stop"), "completed", list{text("completed", "a")}, false},
		{answered(`{"role":"assistant","content":"a"}`, "stop"), "completed", list{text("completed", "a", fields{"token": "a", "logprob": -1.0})}, true},
		{answered(`{"role":"assistant","content":"a"}`, "length"), "max_output_tokens", list{text("incomplete", "a")}, false},
		{answered(`{"role":"assistant","content":"a"}`, "content_filter"), "content_filter", list{text("completed", "a")}, false},
		{answered(`{"role":"assistant","content":""}`, "stop"), "completed", list{text("completed", "")}, false},
		{answered(`{"role":"assistant","content":null,"refusal":"no"}`, "stop"), "completed",
			list{fields{"type": "message", "role": "assistant", "status": "completed", "content": list{fields{"type": "refusal", "refusal": "no"}}}}, false},
		{answered(`{"role":"assistant","content":"a","reasoning":"hm"}`, "stop"), "completed", list{thought, text("completed", "a")}, false},
		{answered(called("f", `{"x": 1.0}`), "tool_calls"), "completed", list{use("function_call", "f", "arguments", `{"x": 1.0}`)}, false},
		{answered(called("team__ask", `{}`), "tool_calls"), "completed", list{inTeam}, false},
		{answered(called("patch", `{ "input": "a\nb"}`), "tool_calls"), "completed", list{use("custom_tool_call", "patch", "input", "a\nb")}, false},
		{answered(called("patch", `{"x":`), "stop"), "completed", list{use("custom_tool_call", "patch", "input", `{"x":`)}, false},
	} {
		_, s := playAs(t, "policy", chatTape(c.answer, c.answer))
		include := list{"reasoning.encrypted_content"}
		if c.logprobs {
			include = append(include, "message.output_text.logprobs")
		}
		ask := fields{"model": "policy", "input": "hi", "include": include, "metadata": fields{"a": "b"},
			"tools": list{fields{"type": "custom", "name": "patch"},
				fields{"type": "namespace", "name": "team", "tools": list{fields{"type": "function", "name": "ask"}}}}}
		for _, stream := range []bool{false, true} {
			ask["stream"] = stream
			status, out := post(t, s.BaseURL()+"/responses", ask)
			if stream {
				events, kinds := sentEvents(t, out)
				if kinds[0] != "created" || kinds[len(kinds)-1] != map[bool]string{true: "completed", false: "incomplete"}[c.end == "completed"] {
					t.Errorf("events %v", kinds)
				}
				out = events[len(events)-1].Response
			}
			var got fields
			json.Unmarshal(out, &got)
			ids := map[any]bool{}
			for _, item := range got["output"].(list) {
				ids[item.(fields)["id"]] = true
				delete(item.(fields), "id")
			}
			if len(ids) != len(c.output) || status != 200 || !strings.HasPrefix(got["id"].(string), "resp_") {
				t.Errorf("%d %s", status, out)
			}
			want := fields{"id": got["id"], "object": "response", "created_at": 5.0, "status": "completed", "error": nil, "incomplete_details": nil,
				"model": "policy@3", "output": c.output,
				"usage": fields{"input_tokens": 9.0, "output_tokens": 1.0, "total_tokens": 10.0, "input_tokens_details": fields{"cached_tokens": 4.0},
					"output_tokens_details": fields{"reasoning_tokens": 1.0}},
				"instructions": nil, "max_output_tokens": nil, "metadata": fields{"a": "b"}, "parallel_tool_calls": true, "previous_response_id": nil,
				"reasoning": nil, "store": true,
				"temperature": nil, "text": fields{"format": fields{"type": "text"}}, "tool_choice": "auto", "tools": decoded(string(mustJSON(ask["tools"]))),
				"top_p": nil, "truncation": "disabled", "user": nil}
			if c.end != "completed" {
				want["status"], want["incomplete_details"] = "incomplete", fields{"reason": c.end}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("stream %t, %s: %s", stream, c.answer, d)
			}
		}
		rec := s.End()
		if sampled := sampled(rec); rec.Untrainable != nil || len(sampled) != 2 || !slices.Equal(sampled[1].TokenIDs, []int32{7}) {
			t.Errorf("%v %v", rec.Untrainable, outlines(rec))
		}
		checkRow(t, rec)
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// TestAConversationOfResponses goes on by its items or by the id of the response
// before; either way the prompt has the tokens that were sampled.
func TestAConversationOfResponses(t *testing.T) {
	for _, byID := range []bool{false, true} {
		for _, arguments := range []string{`{ "input": "\u00e9 <" }`, `not JSON`, ``} {
			e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
				if len(q.Messages) > 2 {
					return recordertest.Reply{Content: "done"}
				}
				return recordertest.Reply{Content: "I look",
					ToolCalls: []formats.ToolCall{{ID: "t1", Name: "look", Arguments: arguments}, {ID: "t2", Name: "look", Arguments: `{"other":1}`}}}
			}}
			s := record(t, e).Begin(context.Background(), "t", "g")
			q := fields{"model": "policy", "instructions": "You look.", "input": list{user("hi")},
				"tools": list{fields{"type": "custom", "name": "look"}}, "n": 2}
			_, out := post(t, s.BaseURL()+"/responses", q)
			var r struct {
				ID     string
				Output list
			}
			json.Unmarshal(out, &r)
			results := list{}
			for _, id := range []string{"t1", "t2"} {
				results = append(results, fields{"type": "custom_tool_call_output", "call_id": id, "output": "seen"})
			}
			if byID {
				q["input"], q["previous_response_id"] = results, r.ID
			} else {
				q["input"] = slices.Concat(list{user("hi")}, r.Output, results)
			}
			if status, out := post(t, s.BaseURL()+"/responses", q); status != 200 {
				t.Fatalf("%d %s", status, out)
			}
			rec := s.End()
			log, main := e.Sampled(), []formats.Message(nil)
			for _, m := range rec.Messages {
				if m.PrefixBreak != "" {
					t.Errorf("%s", outline(m))
				}
				if m.Branch == "" {
					main = append(main, m)
				}
			}
			if rec.Untrainable != nil || len(log) != 4 || len(rec.Messages) != 8 || len(main) != 6 {
				t.Fatalf("%v %v", rec.Untrainable, outlines(rec))
			}
			var path []int32
			for _, m := range main {
				path = append(append(path, m.PromptDeltaIDs...), m.TokenIDs...)
			}
			if want := slices.Concat(log[2].Prompt, log[2].IDs); !slices.Equal(path, want) {
				t.Errorf("the path's tokens are %v, want %v", path, want)
			}
			checkRow(t, rec)
		}
	}
}

// TestResponsesThatWereNotStored cannot be continued by their id.
func TestResponsesThatWereNotStored(t *testing.T) {
	p, s := playAs(t, "policy", chatTape(said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)))
	_, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi", "store": false})
	var r struct{ ID string }
	json.Unmarshal(out, &r)
	for _, id := range []string{r.ID, "resp_other"} {
		status, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "ho", "previous_response_id": id})
		if status != 400 || !strings.Contains(string(out), id) || len(p.asked) != 1 {
			t.Errorf("%d %s", status, out)
		}
	}
	if rec := s.End(); len(rec.Calls) != 1 {
		t.Errorf("%d calls", len(rec.Calls))
	}
}

// TestErrorsOfResponses are the engine's, also where the agent asked for a
// stream, and one in the middle of an answer is an error of the call.
func TestErrorsOfResponses(t *testing.T) {
	refusal := `{"error":{"message":"This model's maximum context length is 8 tokens","type":"BadRequestError"}}`
	broken := `{"id":"c","model":"policy","choices":[{"index":0,"message":{"role":"assis`
	late := `{"error":{"message":"out of memory"}}`
	for _, c := range []struct {
		body         string
		status, want int
		says         string
	}{{refusal, 400, 400, "maximum context length"}, {broken, 200, 502, "not JSON"}, {late, 200, 502, "out of memory"}, {"", 500, 500, ""}} {
		for _, stream := range []bool{false, true} {
			p := chatTape(c.body)
			p.status = []int{c.status}
			_, s := playAs(t, "policy", p)
			status, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "stream": stream, "input": "hi"})
			if status != c.want || !strings.Contains(string(out), c.says) {
				t.Errorf("%d %s", status, out)
			}
			if rec := s.End(); rec.LastCall == nil || rec.Calls[0].Error == "" {
				t.Errorf("%+v", rec.Calls)
			}
		}
	}
}

// TestRequestsOfResponsesThatAreRefused: the model would miss something.
func TestRequestsOfResponsesThatAreRefused(t *testing.T) {
	_, s := playAs(t, "policy", chatTape())
	for body, says := range map[string]string{
		`{}`:                                 `no "input"`,
		`{"input":7}`:                        `no "input"`,
		`{"input":"hi","background":true}`:   "background",
		`{"input":"hi","conversation":"c"}`:  "conversation",
		`{"input":"hi","prompt":{"id":"p"}}`: "prompt",
		`{"input":[{"type":"item_reference","id":"x"}]}`:                               `input.0: this trajectory has no item "x" that was stored`,
		`{"input":[{"type":"compaction","id":"x"}]}`:                                   `input.0: an item of type "compaction"`,
		`{"input":"hi","tool_choice":{"type":"mcp"}}`:                                  `tool_choice: "mcp"`,
		`{"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`:  `a part of type "input_file"`,
		`{"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]}`: "an image without an image_url",
	} {
		if status, out := post(t, s.BaseURL()+"/responses", []byte(body)); status != 400 ||
			!strings.Contains(string(out), strings.ReplaceAll(says, `"`, `\"`)) {
			t.Errorf("%s: %d %s", body, status, out)
		}
	}
	if rec := s.End(); len(rec.Calls) != 0 {
		t.Errorf("%+v", rec.Calls)
	}
}
