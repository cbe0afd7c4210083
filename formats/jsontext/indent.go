package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
)

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
