package chat

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Shared returns the number of equal messages at the beginning of two paths.
func Shared(a, b *formats.Trajectory, pathA, pathB []int) (shared int) {
	for shared < len(pathA) && shared < len(pathB) && same(&a.Messages[pathA[shared]], &b.Messages[pathB[shared]]) {
		shared++
	}
	return shared
}

// same compares what a model would see of two messages. The ids of tool calls
// are random, and do not count.
func same(a, b *formats.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.Reasoning == b.Reasoning &&
		canonical(a.ContentParts) == canonical(b.ContentParts) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y formats.ToolCall) bool {
			return x.Name == y.Name && canonical(x.Arguments) == canonical(y.Arguments)
		})
}

// canonical returns JSON text with its keys in order and no spaces; other text
// is returned unchanged.
func canonical(text string) string {
	if text == "" {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// ToolsOf returns the set of tools that were offered when a message was
// sampled.
func ToolsOf(t *formats.Trajectory, message int) string {
	call := t.Messages[message].Call
	if call < 0 || int(call) >= len(t.Calls) {
		return ""
	}
	return ToolSet(t, t.Calls[call].Tools)
}

// apiMessage is a message as the OpenAI API has it.
type apiMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name,omitempty"`
	Reasoning  string          `json:"reasoning,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolCalls  []APICall       `json:"tool_calls,omitempty"`
}

// APICall is a tool call as the OpenAI API has it.
type APICall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // "function"
	Function Function `json:"function"`
}

// APICalls converts tool calls; nil for none.
func APICalls(calls []formats.ToolCall) (out []APICall) {
	for _, c := range calls {
		out = append(out, APICall{c.ID, "function", Function{c.Name, c.Arguments}})
	}
	return out
}

// JSON returns some messages of a trajectory as a JSON array, as the OpenAI API
// has them.
func JSON(t *formats.Trajectory, path []int) string {
	out := make([]apiMessage, 0, len(path))
	for _, i := range path {
		m := &t.Messages[i]
		c := apiMessage{Role: m.Role, Content: text(m.Content), Name: m.Name, Reasoning: m.Reasoning,
			ToolCallID: m.ToolCallID, ToolCalls: APICalls(m.ToolCalls)}
		if m.ContentParts != "" && json.Valid([]byte(m.ContentParts)) {
			c.Content = json.RawMessage(m.ContentParts)
		}
		out = append(out, c)
	}
	return encode(out)
}

func text(s string) json.RawMessage { return json.RawMessage(encode(s)) }

// encode writes JSON without escaping <, > and &.
func encode(v any) string {
	b, err := jsontext.Append(nil, v)
	if err != nil {
		panic("chat: not JSON: " + err.Error()) // only strings, and JSON that was checked
	}
	return string(b)
}

// AnswerJSON returns a JSON array with one answer of the assistant.
func AnswerJSON(content string) string {
	return encode([]apiMessage{{Role: "assistant", Content: text(content)}})
}
