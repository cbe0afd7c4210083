package recorder_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestStreamsOfEveryKindOfItem come in the order of OpenAI's events.
func TestStreamsOfEveryKindOfItem(t *testing.T) {
	call := func(name, arguments string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":%q,"arguments":%q}}]}`,
			name, arguments)
	}
	for message, want := range map[string][]string{
		`{"role":"assistant","content":"a","reasoning":"so"}`: {
			"output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done", "output_item.done",
			"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"},
		`{"role":"assistant","content":null,"refusal":"no"}`: {
			"output_item.added", "content_part.added", "refusal.delta", "refusal.done", "content_part.done", "output_item.done"},
		`{"role":"assistant","content":""}`: {
			"output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done"},
		call("add", "{}"): {
			"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"},
		call("run", `{"input":"ls"}`): {
			"output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done"},
	} {
		for finish, end := range map[string]string{"stop": "completed", "length": "incomplete"} {
			body := fmt.Sprintf(`{"id":"c","model":"policy","choices":[{"index":0,"message":%s,"logprobs":{"content":[{"logprob":-1}]},"finish_reason":%q}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, message, finish)
			_, s := play(t, body)
			_, stream := post(t, s.BaseURL()+"/responses", fields{"model": "policy", "input": "hi", "stream": true,
				"tools": list{fields{"type": "function", "name": "add"}, fields{"type": "custom", "name": "run"}}})
			events, kinds := sentEvents(t, stream)
			all := append(append([]string{"created", "in_progress"}, want...), end)
			if d := cmp.Diff(all, kinds); d != "" {
				t.Errorf("%s: %s", message, d)
				continue
			}
			for _, key := range []string{`"so"`, `"no"`, `"{}"`, `"ls"`} {
				if strings.Contains(string(events[2].Item), key) {
					t.Errorf("the item begins with its end: %s", events[2].Item)
				}
			}
			if rec := s.End(); rec.Untrainable != nil {
				t.Errorf("%s: %v", message, rec.Untrainable)
			}
		}
	}
}
