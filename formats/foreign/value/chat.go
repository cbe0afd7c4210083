package value

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// ToolCall reads a tool call: of the chat completions API, with the members of
// its function beside its id, or either as JSON text.
func (r *Reader) ToolCall(v []byte) formats.ToolCall {
	if len(v) > 0 && v[0] == '"' {
		if v = []byte(jsontext.Unquote(v)); !jsontext.Valid(v) {
			r.fail("a tool call", v, "JSON")
			return formats.ToolCall{}
		}
		v = v[jsontext.Space(v, 0):]
	}
	o := r.Object("a tool call", v)
	t := chat.ReadToolCall(v, chat.Arguments)
	if !o.Has("function") {
		t.Name, t.Arguments = r.Text("tool_calls.name", o.Get("name")), chat.Arguments(o.Get("arguments"))
	}
	if t.Name == "" {
		r.fail("a tool call", v, "one with a name")
	}
	return t
}

// Message reads a chat message whose tool calls have one of the forms of
// ToolCall.
func Message(raw []byte, other func(key string, value []byte)) (formats.Message, error) {
	var in Reader
	o := in.Object("a message", raw)
	calls := in.List("tool_calls", o.Get("tool_calls"))
	if in.Err != nil {
		return formats.Message{}, in.Err
	}
	if o.Drop("tool_calls") {
		raw = o.Bytes()
	}
	m, err := importers.Message(raw, other)
	if err != nil {
		return m, err
	}
	for call := range jsontext.Elements(calls) {
		m.ToolCalls = append(m.ToolCalls, in.ToolCall(call))
	}
	return m, in.Err
}

// Tools reads definitions of tools. Functions whose members are not in a
// "function", as in the Responses API, become those of the chat completions API,
// which is what exports and chat templates know.
func Tools(v []byte) (string, error) {
	text, err := importers.Tools(v)
	if err != nil || text == "" {
		return "", err
	}
	out := []byte{'['}
	for tool := range jsontext.Elements([]byte(text)) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		o := jsontext.ParseObject(tool)
		kind := jsontext.Unquote(o.Get("type"))
		switch {
		case o == nil:
			return "", fmt.Errorf("a tool is %s, not an object", importers.Brief(tool))
		case !o.Has("function") && o.Has("name") && (kind == "function" || kind == ""):
			o.Drop("type")
			tool = jsontext.Object{{Key: "type", Raw: []byte(`"function"`)}, {Key: "function", Raw: o.Bytes()}}.Bytes()
		}
		out = append(out, tool...)
	}
	return string(append(out, ']')), nil
}
