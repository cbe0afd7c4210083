package tree

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// SameAnswer reports whether two programs recorded the same answer: one is what clients send back of the
// other. Roles, reasoning and the ids of tool calls may differ.
func SameAnswer(a, b *formats.Message) bool {
	x, y := said(a), said(b)
	_, back := returned(&x, &y)
	_, forth := returned(&y, &x)
	return back || forth
}

// AnswerKey returns the key of what an answer says. Those that are SameAnswer have one key, unless one lacks the
// text beside its tool calls.
func AnswerKey(m *formats.Message) uint64 {
	s, k := said(m), Keys{}
	return k.Returned(&s)
}

// said returns a message without what programs record differently.
func said(m *formats.Message) formats.Message {
	s := formats.Message{Role: "assistant", Content: chat.Thinking.ReplaceAllString(text(m), "")}
	if !TextOnly(m.ContentParts) {
		s.ContentParts = m.ContentParts
	}
	for _, c := range m.ToolCalls {
		s.ToolCalls = append(s.ToolCalls, formats.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	return s
}
