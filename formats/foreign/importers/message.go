package importers

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Message reads a chat message that a file stores, in the manner of the chat
// completions API. other gets every member with a value that formats.Message has
// no field for. An error names the member that has a wrong type: nothing is
// read as empty that is not.
func Message(raw []byte, other func(key string, value []byte)) (formats.Message, error) {
	m := formats.Message{Parent: -1, Call: -1}
	if len(raw) == 0 || raw[0] != '{' {
		return m, fmt.Errorf("a message is %s, not an object", Brief(raw))
	}
	for key, v := range jsontext.Members(raw) {
		if string(v) == "null" {
			continue
		}
		known, err := ReadField(&m, key, v)
		if err != nil {
			return m, err
		}
		if !known && other != nil {
			other(string(key), v)
		}
	}
	if m.Role == "" {
		return m, fmt.Errorf("a message has no role: %s", Brief(raw))
	}
	if m.ContentParts != "" && len(m.Content) > 0 && OnlyText(m.ContentParts) {
		m.ContentParts = "" // one part of text is the same as the text
	}
	return m, nil
}

// ReadField adds one member of a message, other than null, to m, and reports
// whether m has a place for it.
func ReadField(m *formats.Message, key, v []byte) (known bool, err error) {
	if err := checkField(key, v); err != nil {
		return true, err
	}
	return chat.ReadField(m, key, v, chat.Arguments), nil
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

func checkField(key, v []byte) error {
	ok := true
	switch string(key) {
	case "role", "name", "tool_call_id", "reasoning_content", "reasoning", "refusal":
		ok = v[0] == '"'
	case "content":
		ok = v[0] == '"' || v[0] == '['
	case "tool_calls":
		if ok = v[0] == '['; ok {
			return checkToolCalls(v)
		}
	case "function_call":
		ok = v[0] == '{'
	}
	if !ok {
		return fmt.Errorf("%s of a message is %s", key, Brief(v))
	}
	return nil
}

func checkToolCalls(list []byte) error {
	for call := range jsontext.Elements(list) {
		if jsontext.Unquote(jsontext.ParseObject(jsontext.ParseObject(call).Get("function")).Get("name")) == "" {
			return fmt.Errorf("a tool call has no function with a name: %s", Brief(call))
		}
	}
	return nil
}

// Brief returns the beginning of a value, for messages.
func Brief(v []byte) string {
	const most = 60
	if len(v) > most {
		return fmt.Sprintf("%.*q…", most, v)
	}
	return fmt.Sprintf("%q", v)
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
			return "", fmt.Errorf("tools are the text %s, which is not a JSON array", Brief(inner))
		}
		text = jsontext.Compact(inner)
	default:
		return "", fmt.Errorf("tools are %s, neither a list nor JSON text", Brief(v))
	}
	if text == "[]" {
		return "", nil
	}
	return text, nil
}
