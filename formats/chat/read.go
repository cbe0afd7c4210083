package chat

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// The functions below read messages of the chat completions API, from valid
// JSON. Their argument arguments reads the arguments of a tool call: it is
// jsontext.Unquote for requests and answers of the API, in which they are a
// text, and Arguments for stored conversations.

// ReadMessage reads a message. It is a root of its own, and not sampled.
func ReadMessage(raw []byte, arguments func([]byte) string) formats.Message {
	m := formats.Message{Parent: -1, Call: -1}
	AddToMessage(&m, raw, arguments)
	return m
}

// AddToMessage adds the content of a message, or of one piece of it, to m.
func AddToMessage(m *formats.Message, raw []byte, arguments func([]byte) string) {
	for key, v := range jsontext.Members(raw) {
		ReadField(m, key, v, arguments)
	}
}

// ReadField adds one member of a message to m, and reports whether m has a place for it.
func ReadField(m *formats.Message, key, v []byte, arguments func([]byte) string) bool {
	switch string(key) {
	case "role":
		m.Role = role(v)
	case "name":
		m.Name = jsontext.Unquote(v)
	case "tool_call_id":
		m.ToolCallID = jsontext.Unquote(v)
	case "content":
		ReadContent(m, v)
	case "reasoning_content", "reasoning":
		if m.Reasoning == "" { // some engines send both
			m.Reasoning = jsontext.Unquote(v)
		}
	case "refusal":
		if text := jsontext.Unquote(v); text != "" {
			AddContent(m, &formats.Message{ContentParts: Refusal(text)})
		}
	case "tool_calls":
		for t := range jsontext.Elements(v) {
			m.ToolCalls = append(m.ToolCalls, ReadToolCall(t, arguments))
		}
	case "function_call":
		if call := readFunction(v, arguments); call.Name != "" {
			m.ToolCalls = append(m.ToolCalls, call)
		}
	default:
		return false
	}
	return true
}

// role returns a role; it makes no new text of a usual one.
func role(v []byte) string {
	switch string(v) {
	case `"system"`:
		return "system"
	case `"user"`:
		return "user"
	case `"assistant"`:
		return "assistant"
	case `"tool"`:
		return "tool"
	}
	return jsontext.Unquote(v)
}

// ReadToolCall reads an element of tool_calls.
func ReadToolCall(raw []byte, arguments func([]byte) string) formats.ToolCall {
	o := jsontext.ParseObject(raw)
	call := readFunction(o.Get("function"), arguments)
	call.ID = jsontext.Unquote(o.Get("id"))
	return call
}

func readFunction(raw []byte, arguments func([]byte) string) formats.ToolCall {
	o := jsontext.ParseObject(raw)
	return formats.ToolCall{Name: jsontext.Unquote(o.Get("name")), Arguments: arguments(o.Get("arguments"))}
}
