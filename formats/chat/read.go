package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// ReadField adds one member of a message to m, and reports whether m has a place
// for it.
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

// Refusal returns the content parts of a message that refuses.
func Refusal(text string) string {
	part, _ := json.Marshal([]map[string]string{{"type": "refusal", "refusal": text}})
	return string(part)
}

// ReadContent reads a text, or an array of parts, whose texts are joined. A
// refusal that m has already comes after it.
func ReadContent(m *formats.Message, v []byte) {
	refusal := formats.Message{ContentParts: m.ContentParts}
	if m.ContentParts = ""; v[0] == '[' {
		m.Content, m.ContentParts = JoinedText(v), jsontext.Compact(v)
	} else {
		m.Content = jsontext.Unquote(v)
	}
	if refusal.ContentParts != "" {
		AddContent(m, &refusal)
	}
}

// AddContent adds content after that of m. What is text alone stays text.
func AddContent(m, more *formats.Message) {
	if more.ContentParts != "" || m.ContentParts != "" && more.Content != "" {
		list := slices.AppendSeq(slices.Collect(jsontext.Elements(partsOf(m))), jsontext.Elements(partsOf(more)))
		m.ContentParts = "[" + string(bytes.Join(list, []byte(","))) + "]"
	}
	m.Content += more.Content
}

func partsOf(m *formats.Message) []byte {
	switch {
	case m.ContentParts != "":
		return []byte(m.ContentParts)
	case m.Content == "":
		return nil
	}
	part, _ := json.Marshal(map[string]string{"type": "text", "text": m.Content})
	return fmt.Appendf(nil, "[%s]", part)
}

// ContentText returns a message's content, or the text of its parts: a message
// of a dataset has one or the other.
func ContentText(m *formats.Message) string {
	if m.ContentParts == "" {
		return m.Content
	}
	return JoinedText([]byte(m.ContentParts))
}

// Answer returns the text of the last sampled message on a trajectory's main
// path.
func Answer(t *formats.Trajectory) string {
	path := t.Main()
	for _, i := range slices.Backward(path) {
		if m := &t.Messages[i]; m.Sampled {
			return ContentText(m)
		}
	}
	return ""
}

// JoinedText returns the text of parts.
func JoinedText(parts []byte) string {
	var text strings.Builder
	for part := range jsontext.Elements(parts) {
		text.WriteString(jsontext.Unquote(jsontext.ParseObject(part).Get("text")))
	}
	return text.String()
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
