package chat

import (
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Transcript returns the main path, for forms that hold one conversation. lose is
// told of what is not on it: messages of other branches, and tools that were
// offered at some turns only.
func Transcript(t *formats.Trajectory, lose func(part string)) (path []int, toolSet string) {
	path = t.Main()
	if len(path) < len(t.Messages) {
		lose("branches")
	}
	var sets []int32
	for _, i := range path {
		if c := t.Messages[i].Call; c >= 0 && int(c) < len(t.Calls) && !slices.Contains(sets, t.Calls[c].Tools) {
			sets = append(sets, t.Calls[c].Tools)
		}
	}
	if len(sets) > 1 {
		lose("changing tools")
	}
	if len(sets) > 0 {
		toolSet = ToolSet(t, sets[len(sets)-1])
	}
	return path, toolSet
}

// ToolsOf returns the set of tools that were offered when a message was sampled.
func ToolsOf(t *formats.Trajectory, message int) string {
	call := t.Messages[message].Call
	if call < 0 || int(call) >= len(t.Calls) {
		return ""
	}
	return ToolSet(t, t.Calls[call].Tools)
}

// ToolSet returns a set of tools by its index, "" for none.
func ToolSet(t *formats.Trajectory, n int32) string {
	if n < 0 || int(n) >= len(t.ToolSets) {
		return ""
	}
	return t.ToolSets[n]
}

// AddToolSet returns the index of a set of tools in a list, to which it is added if it is new; -1 for "".
func AddToolSet(sets *[]string, set string) int32 {
	if set == "" {
		return -1
	}
	at := slices.Index(*sets, set)
	if at < 0 {
		at, *sets = len(*sets), append(*sets, set)
	}
	return int32(at)
}

// Role returns the role of a message as one of system, user, assistant and tool.
// ok is false for a role that is none of them, and not another name of one.
func Role(role string) (name string, ok bool) {
	switch role {
	case "system", "user", "assistant", "tool":
		return role, true
	case "developer":
		return "system", true
	case "function":
		return "tool", true
	}
	return "user", false
}

// Object returns JSON text as a value to embed; nil when it is not an object.
func Object(text string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
		return nil
	}
	return json.RawMessage(text)
}

// List is Object for an array of objects.
func List(text string) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil || list == nil ||
		slices.ContainsFunc(list, func(m map[string]json.RawMessage) bool { return m == nil }) {
		return nil
	}
	return json.RawMessage(text)
}
