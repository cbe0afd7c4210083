package recorder_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
)

// sent is an event of a stream of /v1/responses.
type sent struct {
	Type        string
	Sequence    int `json:"sequence_number"`
	Delta, Text string
	Arguments   string
	Response    json.RawMessage
	Item        json.RawMessage
	Part        json.RawMessage
}

// sentEvents reads a stream, whose events must be numbered and named twice alike.
func sentEvents(t *testing.T, stream []byte) (events []sent, kinds []string) {
	t.Helper()
	for _, block := range strings.Split(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(block, "\ndata: ")
		var e sent
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type || e.Sequence != len(events) {
			t.Fatalf("event %d: %v: %s", len(events), err, block)
		}
		events, kinds = append(events, e), append(kinds, strings.TrimPrefix(e.Type, "response."))
	}
	return events, kinds
}

// TestStreamedResponsesAreAskedWhole: vLLM's streams leave logprobs out. The
// agent gets the stream all the same, and no more than it asked for.
func TestStreamedResponsesAreAskedWhole(t *testing.T) {
	_, body := vllmSample(t, "resp")
	p, s := playAs(t, "tiny", &tape{bodies: []string{body, body}})
	ask := fields{"model": "tiny", "input": "Add 3 and 4", "stream": true, "stream_options": fields{"include_obfuscation": false}}
	status, stream := post(t, s.BaseURL()+"/responses", ask)
	events, kinds := sentEvents(t, stream)
	want := []string{"created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
		"content_part.done", "output_item.done", "completed"}
	if d := cmp.Diff(want, kinds); status != 200 || d != "" {
		t.Fatalf("%d: %s", status, d)
	}
	text := "The quick brown fox jumps over the lazy dog."
	if events[4].Delta != text || events[5].Text != text {
		t.Errorf("%+v, %+v", events[4], events[5])
	}
	_, whole := post(t, s.BaseURL()+"/responses", fields{"model": "tiny", "input": "Add 3 and 4"})
	if d := cmp.Diff(string(whole), string(events[8].Response)); d != "" {
		t.Errorf("the last event's response is not that of a call without a stream: %s", d)
	}
	for k, q := range p.asked {
		if got := string(q["stream"]); got == "true" || q["stream_options"] != nil || string(q["enable_response_messages"]) != "true" {
			t.Errorf("call %d was asked with stream %s, stream_options %s, enable_response_messages %s", k, got, q["stream_options"], q["enable_response_messages"])
		}
	}
	rec := s.End()
	if rec.Unfit != nil || rec.TokenSource != formats.TokensOutput || len(rec.Messages[1].TokenIDs) != 11 || len(rec.Messages[1].PromptDeltaIDs) != 16 {
		t.Errorf("unfit %v, source %q, %v", rec.Unfit, rec.TokenSource, outlines(rec))
	}
	if strings.Contains(rec.Calls[0].Sampling, "enable_response_messages") {
		t.Errorf("sampling %s", rec.Calls[0].Sampling)
	}
	checkRow(t, rec)
}

// TestStreamedResponsesShowWhatWasAskedFor: logprobs, and messages with ids.
func TestStreamedResponsesShowWhatWasAskedFor(t *testing.T) {
	request, body := vllmSample(t, "resp")
	request["stream"] = true
	_, s := playAs(t, "tiny", &tape{bodies: []string{body}})
	_, stream := post(t, s.BaseURL()+"/responses", request)
	events, _ := sentEvents(t, stream)
	if last := events[len(events)-1]; string(last.Response) != body {
		t.Error(cmp.Diff(body, string(last.Response)))
	}
	if n := strings.Count(string(stream), `"logprob":-2.1387851238250732`); n != 5 { // delta, end, part, item, response
		t.Errorf("the first logprob is in %d events", n)
	}
	if strings.Contains(string(events[0].Response), "tokens\":[1,") {
		t.Errorf("the first event tells what is to come: %s", events[0].Response)
	}
}

// TestStreamsOfEveryKindOfItem come in the order of OpenAI's events.
func TestStreamsOfEveryKindOfItem(t *testing.T) {
	for items, want := range map[string][]string{
		`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"content":[{"type":"reasoning_text","text":"so"}]}`: {
			"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done",
			"content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done", "output_item.done"},
		`{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`: {
			"output_item.added", "content_part.added", "refusal.delta", "refusal.done", "content_part.done", "output_item.done"},
		"{\"type\":\"message\",\n \"role\":\"assistant\",\r\n\"content\":[{\"type\":\"output_text\",\"text\":\"\"}]}": {
			"output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done"},
		`{"type":"function_call","id":"f","call_id":"1","name":"add","arguments":"{}"}`: {
			"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"},
		`{"type":"custom_tool_call","id":"f","call_id":"1","name":"run","input":"ls"}`: {
			"output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done"},
		`{"type":"web_search_call","id":"w","status":"completed"}`: {"output_item.added", "output_item.done"},
	} {
		for status, end := range map[string]string{"completed": "completed", "incomplete": "incomplete", "failed": "failed", "cancelled": "failed"} {
			body := fmt.Sprintf(`{"id":"resp_1","status":%q,"model":"policy","output":[%s],"usage":{"input_tokens":1,"output_tokens":1}}`, status, items)
			_, s := play(t, body)
			_, stream := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi", "stream": true})
			events, kinds := sentEvents(t, stream)
			all := append(append([]string{"created", "in_progress"}, want...), end)
			if d := cmp.Diff(all, kinds); d != "" {
				t.Errorf("%s: %s", items, d)
			}
			for _, key := range []string{`"hm"`, `"so"`, `"no"`, `"{}"`, `"ls"`} {
				if strings.Contains(string(events[2].Item), key) {
					t.Errorf("the item begins with its end: %s", events[2].Item)
				}
			}
			s.End()
		}
	}
}

// TestARefusedFieldOfResponsesIsLeftOut from then on, once it is known that the
// request is taken without.
func TestARefusedFieldOfResponsesIsLeftOut(t *testing.T) {
	answer := `{"id":"resp_1","status":"completed","model":"policy","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","logprobs":[{"token":"a","logprob":-1}]}]}],"usage":{"input_tokens":1,"output_tokens":1}}`
	refusal := `{"error":{"message":"Unknown parameter: 'enable_response_messages'.","type":"invalid_request_error"}}`
	p, s := playAs(t, "policy", &tape{bodies: []string{refusal, answer, answer}, status: []int{400}})
	for range 2 {
		if status, out := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi"}); status != 200 {
			t.Fatalf("%d %s", status, out)
		}
	}
	if rec := s.End(); rec.Unfit != nil || len(p.asked) != 3 {
		t.Fatalf("%v, asked %d times", rec.Unfit, len(p.asked))
	}
	for k, want := range []string{"true", "", ""} {
		if got := string(p.asked[k]["enable_response_messages"]); got != want || string(p.asked[k]["return_token_ids"]) != "true" {
			t.Errorf("request %d: enable_response_messages %s", k, got)
		}
	}
}

// TestIDsOfSeveralTurnsAreNotJoined: a server that runs tools itself gives the
// messages of each turn, whose prompt holds the turns before.
func TestIDsOfSeveralTurnsAreNotJoined(t *testing.T) {
	body := `{"id":"resp_1","status":"completed","model":"policy","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ab","logprobs":[{"token":"a","logprob":-1},{"token":"b","logprob":-2}]}]}],"usage":{"input_tokens":3,"output_tokens":2},"input_messages":[%s],"output_messages":[{"tokens":[5],"type":"raw_message_tokens"},{"tokens":[6],"type":"raw_message_tokens"}]}`
	for prompts, want := range map[string]string{
		`{"tokens":[1,2,3],"type":"raw_message_tokens"}`:                 "0 assistant | ab | ends stop | [5 6] [-1 -2] after [1 2 3]",
		`{"tokens":[1],"type":"x"},{"tokens":[1,5,7],"type":"x"}`:        "0 assistant | ab | ends stop | [] [-1 -2] after []",
		`{"role":"user","content":[{"type":"text","text":"no tokens"}]}`: "0 assistant | ab | ends stop | [5 6] [-1 -2] after []",
	} {
		_, s := play(t, fmt.Sprintf(body, prompts))
		post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi"})
		if got := outlines(s.End()); got[1] != want {
			t.Errorf("%s: got %s, want %s", prompts, got[1], want)
		}
	}
}
