package value

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Message reads a chat message that a file stores, in the manner of the chat
// completions API; its tool calls have one of the forms of ToolCall. rest are the
// members with a value that formats.Message has no field for. An error names the
// member that has a wrong type: nothing is read as empty that is not.
func Message(raw []byte) (m formats.Message, rest jsontext.Object, err error) {
	m = formats.Message{Parent: -1, Call: -1}
	if len(raw) == 0 || raw[0] != '{' {
		return m, nil, fmt.Errorf("a message is %s, not an object", importers.Brief(raw))
	}
	var in Reader
	for key, v := range jsontext.Members(raw) {
		switch {
		case string(v) == "null":
		case string(key) == "tool_calls":
			for call := range jsontext.Elements(in.List("tool_calls", v)) {
				m.ToolCalls = append(m.ToolCalls, in.ToolCall(call))
			}
		default:
			known, err := ReadField(&m, key, v)
			if err != nil {
				return m, nil, err
			}
			if !known {
				rest = append(rest, jsontext.Member{Key: string(key), Raw: v})
			}
		}
	}
	if in.Err != nil {
		return m, nil, in.Err
	}
	if m.Role == "" {
		return m, nil, fmt.Errorf("a message has no role: %s", importers.Brief(raw))
	}
	if m.ContentParts != "" && len(m.Content) > 0 && OnlyText(m.ContentParts) {
		m.ContentParts = "" // one part of text is the same as the text
	}
	return m, rest, nil
}

// ReadField adds one member of a message, other than null and tool calls, to m,
// and reports whether m has a place for it.
func ReadField(m *formats.Message, key, v []byte) (known bool, err error) {
	ok := true
	switch string(key) {
	case "role", "name", "tool_call_id", "reasoning_content", "reasoning", "refusal":
		ok = v[0] == '"'
	case "content":
		ok = v[0] == '"' || v[0] == '['
	case "function_call":
		ok = v[0] == '{'
	}
	if !ok {
		return true, fmt.Errorf("%s of a message is %s", key, importers.Brief(v))
	}
	return chat.ReadField(m, key, v, jsontext.AnyText), nil
}

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
	t := chat.ReadToolCall(v, jsontext.AnyText)
	if !o.Has("function") {
		t.Name, t.Arguments = r.Text("tool_calls.name", o.Get("name")), jsontext.AnyText(o.Get("arguments"))
	}
	if t.Name == "" {
		r.Fail("a tool call has no function with a name: %s", importers.Brief(v))
	}
	return t
}

// OnlyText reports whether parts are one part of text and nothing else. Members
// that are null do not count.
func OnlyText(parts string) bool {
	n := 0
	for part := range jsontext.Elements([]byte(parts)) {
		n++
		for key, v := range jsontext.Members(part) {
			if string(v) == "null" {
				continue
			}
			if k := string(key); k != "text" && !(k == "type" && string(v) == `"text"`) {
				return false
			}
		}
	}
	return n == 1
}

// Tools returns the definitions of tools as JSON text: an array as it is, or a
// string that contains one; "" for null and for an empty list.
func Tools(v []byte) (string, error) {
	text := ""
	switch {
	case len(v) == 0 || string(v) == "null":
		return "", nil
	case v[0] == '[':
		text = jsontext.Compact(v)
	case v[0] == '"':
		inner := []byte(jsontext.Unquote(v))
		if len(inner) == 0 {
			return "", nil
		}
		if !jsontext.Valid(inner) || inner[jsontext.Space(inner, 0)] != '[' {
			return "", fmt.Errorf("tools are the text %s, which is not a JSON array", importers.Brief(inner))
		}
		text = jsontext.Compact(inner)
	default:
		return "", fmt.Errorf("tools are %s, neither a list nor JSON text", importers.Brief(v))
	}
	if text == "[]" {
		return "", nil
	}
	return text, nil
}

// ChatTools is Tools, but functions whose members are not in a
// "function", as in the Responses API, become those of the chat completions API,
// which is what exports and chat templates know.
func ChatTools(v []byte) (string, error) {
	text, err := Tools(v)
	if err != nil || text == "" {
		return "", err
	}
	var out [][]byte
	for tool := range jsontext.Elements([]byte(text)) {
		o := jsontext.ParseObject(tool)
		kind := jsontext.Unquote(o.Get("type"))
		switch {
		case o == nil:
			return "", fmt.Errorf("a tool is %s, not an object", importers.Brief(tool))
		case !o.Has("function") && o.Has("name") && (kind == "function" || kind == ""):
			o.Drop("type")
			tool = jsontext.Object{{Key: "type", Raw: []byte(`"function"`)}, {Key: "function", Raw: o.Bytes()}}.Bytes()
		}
		out = append(out, tool)
	}
	return string(Join(out)), nil
}
