package recorder

import (
	"encoding/json"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// parseMessage reads a message of a request, or the message of an answer.
func parseMessage(raw []byte) formats.Message {
	m := formats.Message{Parent: -1, Call: -1}
	readMessage(&m, raw)
	return m
}

// readMessage adds the content of a message, or of one piece of it, to m.
func readMessage(m *formats.Message, raw []byte) {
	for key, v := range members(raw) {
		switch string(key) {
		case "role":
			m.Role = unquote(v)
		case "name":
			m.Name = unquote(v)
		case "tool_call_id":
			m.ToolCallID = unquote(v)
		case "content":
			readContent(m, v)
		case "reasoning_content", "reasoning":
			if m.Reasoning == "" { // some engines send both
				m.Reasoning = unquote(v)
			}
		case "refusal":
			if text := unquote(v); text != "" {
				m.ContentParts = refusal(text)
			}
		case "tool_calls":
			for t := range elements(v) {
				m.ToolCalls = append(m.ToolCalls, parseToolCall(t))
			}
		case "function_call":
			if call := parseFunction(v); call.Name != "" {
				m.ToolCalls = append(m.ToolCalls, call)
			}
		}
	}
}

// refusal returns the content of a message that refuses.
func refusal(text string) string {
	part, _ := json.Marshal([]map[string]string{{"type": "refusal", "refusal": text}})
	return string(part)
}

// readContent reads a text, or an array of parts, whose texts are joined.
func readContent(m *formats.Message, v []byte) {
	if v[0] != '[' {
		m.Content = unquote(v)
		return
	}
	m.Content, m.ContentParts = joined(v), compact(v)
}

// joined returns the text of parts.
func joined(parts []byte) string {
	var text strings.Builder
	for part := range elements(parts) {
		text.WriteString(unquote(parseObject(part).get("text")))
	}
	return text.String()
}

func parseToolCall(raw []byte) formats.ToolCall {
	o := parseObject(raw)
	call := parseFunction(o.get("function"))
	call.ID = unquote(o.get("id"))
	return call
}

func parseFunction(raw []byte) formats.ToolCall {
	o := parseObject(raw)
	return formats.ToolCall{Name: unquote(o.get("name")), Arguments: unquote(o.get("arguments"))}
}
