package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

type list = []any

// TestAPromptOfMessages is asked as chat completions, with all that those can
// say.
func TestAPromptOfMessages(t *testing.T) {
	p, s := play(t, said(`{"role":"assistant","content":"a"}`, "[1,2]", 7))
	status, out := post(t, s.BaseURL()+"/messages", []byte(`{"model":"policy","max_tokens":9,"temperature":0.5,"top_p":0.9,"top_k":4,"stop_sequences":["X"],
		"metadata":{"user_id":"u"},"thinking":{"type":"enabled","budget_tokens":1024},"service_tier":"auto","container":null,"min_p":0.1,
		"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},
		"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1"},{"type":"text","text":"You "},{"type":"text","text":"help.","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"add","description":"Add.","input_schema":{"type":"object", "properties":{}},"cache_control":{"type":"ephemeral"}}],
		"tool_choice":{"type":"tool","name":"add","disable_parallel_tool_use":true},
		"messages":[{"role":"user","content":[{"type":"text","text":"look","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
				{"type":"image","source":{"type":"url","url":"http://h/i.png"}},{"type":"document","source":{"type":"text","data":"doc"}}]},
			{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I "},{"type":"text","text":"add"},
				{"type":"tool_use","id":"t1","name":"add","input":{"a": 1}},{"type":"tool_use","id":"t2","name":"add"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"3","is_error":true},
				{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"4"},{"type":"text","text":"5"},{"type":"image","source":{"type":"url","url":"http://h/j.png"}}]},
				{"type":"text","text":"and?"}]}]}`))
	if status != 200 {
		t.Fatalf("%d %s", status, out)
	}
	got := fields{}
	for _, key := range []string{"messages", "tools", "tool_choice", "max_tokens", "temperature", "top_p", "top_k", "min_p", "stop", "parallel_tool_calls",
		"reasoning_effort", "response_format", "logprobs"} {
		var v any
		json.Unmarshal(p.asked[0][key], &v)
		got[key] = v
	}
	call := func(id, arguments string) fields {
		return fields{"id": id, "type": "function", "function": fields{"name": "add", "arguments": arguments}}
	}
	image := func(url string) fields { return fields{"type": "image_url", "image_url": fields{"url": url}} }
	want := fields{"max_tokens": 9.0, "temperature": 0.5, "top_p": 0.9, "top_k": 4.0, "min_p": 0.1, "stop": list{"X"}, "parallel_tool_calls": false,
		"reasoning_effort": "low", "logprobs": true,
		"response_format": fields{"type": "json_schema", "json_schema": fields{"name": "output", "schema": fields{"type": "object"}}},
		"tools": list{fields{"type": "function",
			"function": fields{"name": "add", "description": "Add.", "parameters": fields{"type": "object", "properties": fields{}}}}},
		"tool_choice": fields{"type": "function", "function": fields{"name": "add"}},
		"messages": list{fields{"role": "system", "content": "You help."},
			fields{"role": "user", "content": list{fields{"type": "text", "text": "look"}, image("data:image/png;base64,aGk="), image("http://h/i.png"),
				fields{"type": "text", "text": "doc"}}},
			fields{"role": "assistant", "content": "I add", "reasoning": "hm", "tool_calls": list{call("t1", `{"a":1}`), call("t2", "{}")}},
			fields{"role": "tool", "tool_call_id": "t1", "content": "3"},
			fields{"role": "tool", "tool_call_id": "t2", "content": "4\n5"},
			fields{"role": "user", "content": list{image("http://h/j.png")}},
			user("and?")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, key := range []string{"system", "metadata", "thinking", "service_tier", "container", "stop_sequences", "output_config"} {
		if p.asked[0][key] != nil {
			t.Errorf("the engine was sent %s", key)
		}
	}
	rec := s.End()
	checkRow(t, rec)
	if said, _ := json.Marshal(rec.ToolErrors); string(said) != `{"t1":true,"t2":false}` {
		t.Errorf("the results of tools: %s", said)
	}
	if p.paths[0] != "/v1/chat/completions" || rec.ToolSets[0] != string(p.asked[0]["tools"]) ||
		!strings.Contains(rec.Calls[0].Sampling, `"api":"messages","constrained_by":"tool_choice"`) {
		t.Errorf("%s %s %s", p.paths[0], rec.ToolSets, rec.Calls[0].Sampling)
	}
}

// TestSystemMessagesLead before the first answer, and stay in place after it.
func TestSystemMessagesLead(t *testing.T) {
	note := func(text string) fields { return fields{"role": "system", "content": text} }
	for want, q := range map[string]fields{
		"system=You add.Now. user=hi":                   {"system": "You add.", "messages": list{user("hi"), note("Now.")}},
		"system=Now. user=hi":                           {"messages": list{user("hi"), note("Now.")}},
		"system=A user=hi assistant=a system=B user=ho": {"system": "A", "messages": list{user("hi"), assistant("a"), note("B"), user("ho")}},
		"user=hi": {"system": list{fields{"type": "text", "text": "x-anthropic-billing-header: 1"}}, "messages": list{user("hi")}},
	} {
		p, s := play(t, said(`{"role":"assistant","content":"a"}`, "[1,2]", 7))
		q["model"] = "policy"
		post(t, s.BaseURL()+"/messages", q)
		var sent []struct{ Role, Content string }
		json.Unmarshal(p.asked[0]["messages"], &sent)
		var got []string
		for _, m := range sent {
			got = append(got, m.Role+"="+m.Content)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
		s.End()
	}
}

// TestAnswersAsMessages: each kind of answer, whole and as the stream made of it.
func TestAnswersAsMessages(t *testing.T) {
	chat := func(message, finish, more string) string {
		return fmt.Sprintf(`{"id":"c1","model":"policy@3","choices":[{"index":0,"message":%s,"logprobs":{"content":[{"logprob":-1}]},"finish_reason":%q%s,"token_ids":[7]}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}`,
			message, finish, more)
	}
	tool := func(arguments string) string {
		text, _ := json.Marshal(arguments)
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":%s}}]}`, text)
	}
	text := fields{"type": "text", "text": "a"}
	use := func(input fields) fields { return fields{"type": "tool_use", "id": "t1", "name": "f", "input": input} }
	for _, c := range []struct {
		answer, stop string
		sequence     any
		content      list
		deltas       []string
	}{
		{chat(`{"role":"assistant","content":"a"}`, "stop", ""), "end_turn", nil, list{text}, []string{"text_delta"}},
		{chat(`{"role":"assistant","content":"a"}`, "stop", `,"stop_reason":"X"`), "stop_sequence", "X", list{text}, []string{"text_delta"}},
		{chat(`{"role":"assistant","content":"a"}`, "stop", `,"stop_reason":128009`), "end_turn", nil, list{text}, []string{"text_delta"}},
		{chat(`{"role":"assistant","content":"a"}`, "length", ""), "max_tokens", nil, list{text}, []string{"text_delta"}},
		{chat(`{"role":"assistant","content":"a"}`, "content_filter", ""), "refusal", nil, list{text}, []string{"text_delta"}},
		{chat(`{"role":"assistant","content":null,"refusal":"no"}`, "stop", ""), "refusal", nil, list{fields{"type": "text", "text": "no"}},
			[]string{"text_delta"}},
		{chat(`{"role":"assistant","content":""}`, "stop", ""), "end_turn", nil, list{}, nil},
		{chat(`{"role":"assistant","content":"a","reasoning":"hm"}`, "stop", ""), "end_turn", nil,
			list{fields{"type": "thinking", "thinking": "hm", "signature": "rollmill"}, text},
			[]string{"thinking_delta", "signature_delta", "text_delta"}},
		{chat(tool(`{"x": 1.0}`), "tool_calls", ""), "tool_use", nil, list{use(fields{"x": 1.0})}, []string{"input_json_delta"}},
		{chat(tool(""), "stop", ""), "tool_use", nil, list{use(fields{})}, []string{"input_json_delta"}},
		{chat(tool(`{"x": `), "length", ""), "max_tokens", nil, list{use(fields{"arguments": `{"x": `})}, []string{"input_json_delta"}},
		{chat(tool(`[NaN]`), "tool_calls", ""), "tool_use", nil, list{use(fields{"arguments": `[NaN]`})}, []string{"input_json_delta"}},
	} {
		_, s := play(t, c.answer, c.answer)
		ask := fields{"model": "policy", "max_tokens": 9, "messages": list{user("hi")}}
		status, out := post(t, s.BaseURL()+"/messages", ask)
		var got fields
		json.Unmarshal(out, &got)
		want := fields{"id": "c1", "type": "message", "role": "assistant", "model": "policy@3", "content": c.content, "stop_reason": c.stop,
			"stop_sequence": c.sequence,
			"usage":         fields{"input_tokens": 5.0, "output_tokens": 1.0, "cache_read_input_tokens": 4.0, "cache_creation_input_tokens": 0.0}}
		if d := cmp.Diff(want, got); d != "" || status != 200 {
			t.Errorf("%d %s: %s", status, c.answer, d)
		}
		ask["stream"] = true
		_, stream := post(t, s.BaseURL()+"/messages", ask)
		whole, kinds := messageOf(t, stream)
		if d := cmp.Diff(want, whole); d != "" {
			t.Errorf("streamed: %s", d)
		}
		if d := cmp.Diff(slices.Concat([]string{"message_start", "ping"}, c.deltas, []string{"message_delta", "message_stop"}), kinds); d != "" {
			t.Errorf("%s: %s", c.answer, d)
		}
		rec := s.End()
		if sampled := sampled(rec); rec.Untrainable != nil || len(sampled) != 2 || !slices.Equal(sampled[1].TokenIDs, []int32{7}) {
			t.Errorf("%v %v", rec.Untrainable, outlines(rec))
		}
		checkRow(t, rec)
	}
}

// messageOf puts a stream together as clients do. kinds has the events, with the
// kind of a delta instead of content_block_delta and its start and stop.
func messageOf(t *testing.T, stream []byte) (m fields, kinds []string) {
	t.Helper()
	var blocks list
	input := ""
	for _, e := range strings.Split(strings.TrimSpace(string(stream)), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(e, "event: "), "\ndata: ")
		var v fields
		if err := json.Unmarshal([]byte(data), &v); err != nil || v["type"] != name {
			t.Fatalf("%v: %s", err, e)
		}
		switch name {
		case "message_start":
			m = v["message"].(fields)
			if m["stop_reason"] != nil || len(m["content"].(list)) != 0 {
				t.Errorf("the beginning tells the end: %s", data)
			}
		case "content_block_start":
			blocks, input = append(blocks, v["content_block"]), ""
			continue
		case "content_block_delta":
			d, b := v["delta"].(fields), blocks[int(v["index"].(float64))].(fields)
			name = d["type"].(string)
			for _, key := range []string{"text", "thinking", "signature"} {
				if piece, ok := d[key]; ok {
					b[key] = b[key].(string) + piece.(string)
				}
			}
			if piece, ok := d["partial_json"]; ok {
				input += piece.(string)
				b["input"] = fields(nil)
				if json.Unmarshal([]byte(input), &v) == nil {
					b["input"] = decoded(input)
				}
			}
		case "content_block_stop":
			continue
		case "message_delta":
			for key, value := range v["delta"].(fields) {
				m[key] = value
			}
			m["usage"] = v["usage"]
		}
		kinds = append(kinds, name)
	}
	m["content"] = append(list{}, blocks...)
	return m, kinds
}

func decoded(text string) (v any) {
	json.Unmarshal([]byte(text), &v)
	return v
}

// TestAConversationOfMessages: blocks that come back continue the path, and the
// prompt has the tokens that were sampled, even where an object lost the text of
// the arguments.
func TestAConversationOfMessages(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, arguments := range []string{`{ "b": 2.0,  "a":"\u00e9" }`, `not JSON`, ``} {
			e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
				if len(q.Messages) > 2 {
					return recordertest.Reply{Content: "done"}
				}
				return recordertest.Reply{Content: "I look",
					ToolCalls: []formats.ToolCall{{ID: "t1", Name: "look", Arguments: arguments}, {ID: "t1", Name: "look", Arguments: `{"other":1}`}}}
			}}
			s := record(t, e).Begin(context.Background(), "t", "g")
			q := fields{"model": "policy", "max_tokens": 99, "stream": stream, "system": "You look.", "messages": list{user("hi")}}
			_, out := post(t, s.BaseURL()+"/messages", q)
			var m fields
			if stream {
				m, _ = messageOf(t, out)
			} else {
				json.Unmarshal(out, &m)
			}
			back := fields{"role": "assistant", "content": m["content"]} // json.Marshal sorts the keys of the input and writes 2.0 as 2
			results := list{}
			for range 2 {
				results = append(results, fields{"type": "tool_result", "tool_use_id": "t1", "content": "seen"})
			}
			q["messages"] = list{user("hi"), back, fields{"role": "user", "content": results}}
			post(t, s.BaseURL()+"/messages", q)
			rec := s.End()
			if rec.Untrainable != nil || len(rec.Messages) != 6 {
				t.Fatalf("%v %v", rec.Untrainable, outlines(rec))
			}
			var path []int32
			for i, m := range rec.Messages {
				if int(m.Parent) != i-1 || m.Branch != "" || m.PrefixBreak != "" {
					t.Errorf("message %d: %s", i, outline(m))
				}
				path = append(append(path, m.PromptDeltaIDs...), m.TokenIDs...)
			}
			log := e.Sampled()
			for k, m := range sampled(rec) {
				if !slices.Equal(m.TokenIDs, log[k].IDs) || !slices.Equal(m.Logprobs, log[k].Logprobs) {
					t.Errorf("answer %d is recorded as %v, sampled as %v", k, m.TokenIDs, log[k].IDs)
				}
			}
			if want := slices.Concat(log[1].Prompt, log[1].IDs); !slices.Equal(path, want) {
				t.Errorf("the path's tokens are %v, want %v", path, want)
			}
			checkRow(t, rec)
		}
	}
}

// TestErrorsAsMessages have the engine's status, Anthropic's form, and no secret.
func TestErrorsAsMessages(t *testing.T) {
	for status, want := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"} {
		body := `{"object":"error","message":"This model's maximum context length is 8 tokens"}`
		_, s := playAs(t, "policy", &tape{bodies: []string{body, body}, status: []int{status, status}})
		for _, stream := range []bool{false, true} {
			got, out := post(t, s.BaseURL()+"/messages", fields{"model": "policy", "stream": stream, "messages": list{user("hi")}})
			var v struct {
				Type  string
				Error struct{ Type, Message string }
			}
			json.Unmarshal(out, &v)
			text := v.Error.Message
			if status < 429 {
				text = strings.TrimPrefix(text, "prompt is too long: ")
			}
			if got != status || v.Type != "error" || v.Error.Type != want || text != "This model's maximum context length is 8 tokens" {
				t.Errorf("%d: %d %s", status, got, out)
			}
		}
		s.End()
		if got, out := post(t, s.BaseURL()+"/messages", fields{}); got != http.StatusGone || !strings.HasPrefix(string(out), `{"error":{`) ||
			!strings.Contains(string(out), `"type":"error"`) {
			t.Errorf("after the end: %d %s", got, out)
		}
	}
}

// TestSessionsByHeader: a new session's prompt that shares a beginning is a
// sub-agent's; without a header the same prompt is an edit.
func TestSessionsByHeader(t *testing.T) {
	for header, want := range map[string]string{"X-Session-Id": "subagent", "X-Claude-Code-Agent-Id": "subagent", "session_id": "subagent",
		"X-Other": "history"} {
		p := &tape{bodies: []string{said(`{"role":"assistant","content":"a"}`, "[1,2]", 7), said(`{"role":"assistant","content":"b"}`, "[1,3]", 8)}}
		_, s := playAs(t, "policy", p)
		post(t, s.BaseURL()+"/messages", fields{"model": "policy", "messages": list{user("env"), user("one")}}, header, "main")
		post(t, s.BaseURL()+"/messages", fields{"model": "policy", "messages": list{user("env"), user("two")}}, header, "other")
		rec := s.End()
		if len(rec.Messages) != 5 || rec.Messages[3].Branch != want {
			t.Errorf("%s: %v", header, outlines(rec))
		}
		validRow(t, rec) // no call of it has its session
	}
}
