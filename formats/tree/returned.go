package tree

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// Why a prompt does not begin with its ancestor's tokens (column messages.prefix_break),
// because of what the agent changed. Package chat has the causes that no message shows.
const (
	BreakReasoning = chat.BreakReasoning
	BreakArguments = "arguments" // tool arguments were rewritten; not in new rows: the recorder restores their text
	BreakContent   = "content"   // the agent changed its own earlier message
)

// returned reports whether m is the sampled message s as clients send it back, and
// which Break constant names what they changed.
func returned(s, m *formats.Message) (changed string, ok bool) {
	if s.Role != m.Role || !sameParts(s, m) || len(s.ToolCalls) != len(m.ToolCalls) {
		return "", false
	}
	if m.Reasoning != s.Reasoning {
		if m.Reasoning != "" {
			return "", false
		}
		changed = worse(changed, BreakReasoning)
	}
	if sent, back := text(s), text(m); sent != back {
		switch was, is := strings.TrimSpace(sent), strings.TrimSpace(back); {
		case was == is, is == "" && len(s.ToolCalls) > 0:
			changed = worse(changed, BreakContent)
		case strings.TrimSpace(chat.Thinking.ReplaceAllString(sent, "")) == is:
			changed = worse(changed, BreakReasoning)
		default:
			return "", false
		}
	}
	for i, a := range s.ToolCalls {
		b := m.ToolCalls[i]
		if a == b {
			continue
		}
		if !SameCall(a, b) {
			return "", false
		}
		changed = worse(changed, BreakArguments)
	}
	return changed, true
}

// worse returns the cause that explains more of a break: reasoning only where it is the only one.
func worse(a, b string) string {
	for _, cause := range []string{BreakArguments, BreakContent, BreakReasoning} {
		if a == cause || b == cause {
			return cause
		}
	}
	return ""
}

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
