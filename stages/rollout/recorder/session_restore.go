package recorder

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/tree"
)

// restore gives a request's tool calls the text of arguments that was sampled, each
// by the answer that the prompt continues, or else by the latest with that call.
func (s *Session) restore(q *apis.Request) {
	at, known := -1, true
	var changed []int
	for i := range q.Messages {
		m := &q.Messages[i]
		next := -1
		if known {
			if next, _ = s.tree.Find(at, m); next < 0 && len(m.ToolCalls) == 0 {
				known = false
			}
		}
		before := m.ToolCalls
		switch {
		case len(before) == 0:
		case next >= 0:
			m.ToolCalls = s.tree.Messages[next].ToolCalls
		default:
			m.ToolCalls = slices.Clone(before)
			for k := range m.ToolCalls {
				s.restoreArguments(q, &m.ToolCalls[k])
			}
			if known {
				next, _ = s.tree.Find(at, m)
				known = next >= 0
			}
		}
		if !slices.Equal(before, m.ToolCalls) {
			changed = append(changed, i)
		}
		at = next
	}
	if q.API.Translated() {
		q.SetMessages()
	} else if len(changed) > 0 {
		q.SetArguments(changed)
	}
}

// restoreArguments gives a call the text of its arguments as it was sampled.
func (s *Session) restoreArguments(q *apis.Request, c *formats.ToolCall) {
	text, found := c.Arguments, false
	for i := len(s.tree.Messages) - 1; i >= 0; i-- {
		m := &s.tree.Messages[i]
		for k := range m.ToolCalls {
			sampled := &m.ToolCalls[k]
			switch {
			case !m.Sampled, sampled.ID != c.ID, sampled.Name != c.Name:
			case sampled.Arguments == c.Arguments:
				return
			case !found && tree.SameJSON(q.API.Arguments(q, sampled), c.Arguments):
				text, found = sampled.Arguments, true
			}
		}
	}
	c.Arguments = text
}
