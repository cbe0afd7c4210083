package value

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Message reads a chat message that a file stores, in the manner of the chat
// completions API; its tool calls have one of the forms of ToolCall. rest are the
// members with a value that formats.Message has no field for. A member that has a wrong
// type ends the record: nothing is read as empty that is not.
func Message(raw []byte) (m formats.Message, rest jsontext.Object) {
	m = formats.Message{Parent: -1, Call: -1}
	if len(raw) == 0 || raw[0] != '{' {
		must.Fail("a message is %s, not an object", importers.Brief(raw))
	}
	var rests Rests
	for key, v := range jsontext.Members(raw) {
		switch {
		case string(v) == "null":
		case string(key) == "tool_calls":
			for raw := range jsontext.Elements(must.List("tool_calls", v)) {
				call, rest := ToolCall(raw)
				m.ToolCalls = append(m.ToolCalls, call)
				rests.Add(rest)
			}
		default:
			if !ReadField(&m, key, v) {
				rest = append(rest, jsontext.Member{Key: string(key), Raw: v})
			}
		}
	}
	if more := rests.JSON(); more != nil {
		rest = append(rest, jsontext.Member{Key: "tool_calls", Raw: more})
	}
	if m.Role == "" {
		must.Fail("a message has no role: %s", importers.Brief(raw))
	}
	if m.ContentParts != "" && len(m.Content) > 0 && OnlyText(m.ContentParts) {
		m.ContentParts = "" // one part of text is the same as the text
	}
	return m, rest
}

// Messages reads a list of messages.
func Messages(field string, list []byte) (out []importers.Read) {
	must.Each(field, must.List(field, list), func(raw []byte) {
		m, rest := Message(raw)
		out = append(out, importers.Read{Message: m, Others: rest})
	})
	return out
}

// ReadField adds one member of a message, other than null and tool calls, to m,
// and reports whether m has a place for it.
func ReadField(m *formats.Message, key, v []byte) (known bool) {
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
		must.Fail("%s of a message is %s", key, importers.Brief(v))
	}
	return chat.ReadField(m, key, v, jsontext.AnyText)
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
