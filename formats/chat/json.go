package chat

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

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

// JSON returns some messages of a trajectory as a JSON array, as the OpenAI API has them.
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
