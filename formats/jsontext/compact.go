package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
)

func IsTrue(raw []byte) bool { return string(raw) == "true" }

// Compact returns valid JSON without space between its parts.
func Compact(raw []byte) string {
	if !Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	var b strings.Builder
	b.Grow(len(raw))
	WriteCompact(&b, raw)
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// AnyText returns the content of a string, "" for null and for no value, and any
// other value as compact JSON, such as arguments of a tool call, which some
// programs store as a value and others as text.
func AnyText(v []byte) string {
	if len(v) == 0 || string(v) == "null" || v[0] == '"' {
		return Unquote(v)
	}
	return Compact(v)
}

// WriteCompact writes JSON that is known to be valid without space between its parts.
func WriteCompact(b *strings.Builder, raw []byte) {
	from := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case ' ', '\n', '\t', '\r':
			b.Write(raw[from:i])
			i = Space(raw, i)
			from = i
		default:
			i++
		}
	}
	b.Write(raw[min(from, len(raw)):])
}

// The JSON that Indent changes. Deep nesting would make a short text very long.
const (
	maxIndented = 64 << 10 // bytes
	maxDepth    = 64
)

// Indent returns a JSON object or array with a line for each of its values. Other
// texts, and very long or deeply nested ones, are returned unchanged.
func Indent(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxIndented || !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || deep(trimmed) {
		return text
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(trimmed), "", "  ") != nil {
		return text
	}
	return out.String()
}

// deep reports whether brackets nest deeper than maxDepth. Those in strings count
// too: they make it true too early at most.
func deep(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
