package chat

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
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
		sameJSON(a.ContentParts, b.ContentParts) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y formats.ToolCall) bool {
			return x.Name == y.Name && sameJSON(x.Arguments, y.Arguments)
		})
}

func sameJSON(a, b string) bool { return a == b || jsontext.Same(a, b) }
