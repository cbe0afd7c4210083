// Package chat makes of messages what the API of chat completions and chat templates
// have, and reads messages in that form.
package chat

import "github.com/rollmill/rollmill/formats"

// Message is a chat message. As JSON it is the API's; Template is the form for chat templates.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	Reasoning  string     `json:"-"`
	Weight     *float64   `json:"-"` // in the loss, where a form says it; nil for 1
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
}

// ToolCall is a call that the model made; its arguments are JSON text.
type ToolCall struct {
	Type     string   `json:"type"`
	ID       string   `json:"id,omitempty"`
	Function Function `json:"function"`
}

// Function is the function that a tool call names.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolCalls converts tool calls; nil for none.
func ToolCalls(calls []formats.ToolCall) (out []ToolCall) {
	for _, c := range calls {
		out = append(out, ToolCall{"function", c.ID, Function{c.Name, c.Arguments}})
	}
	return out
}

// Why messages are in no row of a chat template.
const (
	// arguments of a tool call that are not a JSON object of Unicode text, which chat templates need
	BadArguments = "arguments"
	BadNumbers   = "numbers" // a number in such arguments that Hugging Face datasets would change, in Parquet, too
	Tools        = "tools"   // tools that the form cannot hold
)

// TextMessages returns the messages of a path, unless one has content that is not text.
func TextMessages(t *formats.Trajectory, path []int) ([]Message, bool) {
	out := make([]Message, 0, len(path))
	for _, i := range path {
		m := &t.Messages[i]
		if !IsText(m) {
			return nil, false
		}
		content, _ := Text(m)
		out = append(out, Message{Role: m.Role, Content: content, Name: m.Name, Reasoning: m.Reasoning,
			ToolCallID: m.ToolCallID, ToolCalls: ToolCalls(m.ToolCalls)})
	}
	return out, true
}

// Fields are the fields of a message that not every format has a place for.
type Fields uint8

const (
	HoldsName Fields = 1 << iota
	HoldsReasoning
	HoldsTools
)

// Why a format has no place for a message, in addition to Tools.
const (
	Reasoning = "reasoning" // an answer would leave without what the model thought before it
	Named     = "name"      // a message would leave without the name of its speaker
)

// Unheld returns the reason why a format that holds some fields cannot hold messages,
// "" for none. Every format that does not hold all fields asks it.
func Unheld(holds Fields, lists ...[]Message) string {
	for _, list := range lists {
		for i := range list {
			switch m := &list[i]; {
			case holds&HoldsTools == 0 && (m.Role == "tool" || m.ToolCallID != "" || len(m.ToolCalls) > 0):
				return Tools
			case holds&HoldsReasoning == 0 && m.Reasoning != "":
				return Reasoning
			case holds&HoldsName == 0 && m.Name != "":
				return Named
			}
		}
	}
	return ""
}
