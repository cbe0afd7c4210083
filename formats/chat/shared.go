package chat

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Shared returns the number of equal messages at the beginning of two paths.
func Shared(a, b *formats.Trajectory, pathA, pathB []int) (shared int) {
	for shared < len(pathA) && shared < len(pathB) && same(&a.Messages[pathA[shared]], &b.Messages[pathB[shared]]) {
		shared++
	}
	return shared
}

// same compares what a model would see of two messages. The ids of tool calls
// are random, and do not count.
func same(a, b *formats.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.Reasoning == b.Reasoning &&
		canonical(a.ContentParts) == canonical(b.ContentParts) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y formats.ToolCall) bool {
			return x.Name == y.Name && canonical(x.Arguments) == canonical(y.Arguments)
		})
}

// canonical returns JSON text with its keys in order and no spaces; other text
// is returned unchanged.
func canonical(text string) string {
	if text == "" {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}
