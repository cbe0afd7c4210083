package chat

import (
	"cmp"
	"encoding/json"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Template returns messages in the form that the chat templates of Hugging Face
// models read: the arguments of tool calls are JSON objects, as engines give
// them to the template, and reasoning is reasoning_content. reason is BadArguments
// or BadNumbers if a call cannot be written so; its arguments are then text.
//
// A message is one JSON value, because Arrow would give the objects of a column
// the keys of all of them. In Parquet it is a column of type JSON. In JSON Lines
// datasets (4.7 and later) keeps messages as JSON when their keys differ within
// the file's first rows: with marked, those that it would otherwise convert have
// the key "json". Templates do not read it. A caller marks every second row.
func Template(messages []Message, marked bool) (out []jsontext.Raw, reason string) {
	for i := range messages {
		made, why := messages[i].template(marked)
		out, reason = append(out, made), cmp.Or(reason, why)
	}
	return out, reason
}

func (m *Message) template(marked bool) (out jsontext.Raw, reason string) {
	t := templateMessage{Role: m.Role, Content: m.Content, Name: m.Name, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID,
		Weight: m.Weight, JSON: marked && (len(m.ToolCalls) > 0 || dated(m.Content))}
	for _, c := range m.ToolCalls {
		object, why := arguments(c.Function.Arguments)
		if why != "" {
			object, reason = text(c.Function.Arguments), why
		}
		t.ToolCalls = append(t.ToolCalls, templateCall{c.Type, c.ID, templateFunction{c.Function.Name, object}})
	}
	return jsontext.Raw(encode(t)), reason
}

// NoTools returns the reason of a form that cannot hold offered tools; "" for no tools.
func NoTools(tools string) string {
	if tools == "" || tools == "[]" {
		return ""
	}
	return Tools
}

// templateMessage is a message as templates read it.
type templateMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	Name       string         `json:"name,omitempty"`
	Reasoning  string         `json:"reasoning_content,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	ToolCalls  []templateCall `json:"tool_calls,omitempty"`
	Weight     *float64       `json:"weight,omitempty"`
	JSON       bool           `json:"json,omitempty"`
}

type templateCall struct {
	Type     string           `json:"type"`
	ID       string           `json:"id,omitempty"`
	Function templateFunction `json:"function"`
}

type templateFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// dated reports whether Arrow may take a text for a time: it converts a column
// of which every text is one.
func dated(s string) bool { return len(s) >= 10 && s[4] == '-' && s[7] == '-' }
