package tree

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Restore gives a prompt's tool calls the text of arguments that was sampled, each by the answer that
// the prompt continues, or else by the latest with that call, and returns which messages changed.
// returned is what clients get of a sampled call's arguments; nil: the arguments.
func (t *Tree) Restore(prompt []formats.Message, returned func(*formats.ToolCall) string) (changed []int) {
	at, known := -1, true
	for i := range prompt {
		m := &prompt[i]
		next := -1
		if known {
			if next, _ = t.Find(at, m); next < 0 && len(m.ToolCalls) == 0 {
				known = false
			}
		}
		before := m.ToolCalls
		switch {
		case len(before) == 0:
		case next >= 0:
			m.ToolCalls = t.Messages[next].ToolCalls
		default:
			m.ToolCalls = slices.Clone(before)
			for k := range m.ToolCalls {
				t.restoreArguments(&m.ToolCalls[k], returned)
			}
			if known {
				next, _ = t.Find(at, m)
				known = next >= 0
			}
		}
		if !slices.Equal(before, m.ToolCalls) {
			changed = append(changed, i)
		}
		at = next
	}
	return changed
}

// restoreArguments gives a call the text of its arguments as it was sampled.
func (t *Tree) restoreArguments(c *formats.ToolCall, returned func(*formats.ToolCall) string) {
	text, found := c.Arguments, false
	for i := len(t.Messages) - 1; i >= 0; i-- {
		m := &t.Messages[i]
		for k := range m.ToolCalls {
			sampled := &m.ToolCalls[k]
			switch {
			case !m.Sampled, sampled.ID != c.ID, sampled.Name != c.Name:
			case sampled.Arguments == c.Arguments:
				return
			case !found && (returned == nil && jsontext.Same(sampled.Arguments, c.Arguments) ||
				returned != nil && jsontext.Same(returned(sampled), c.Arguments)):
				text, found = sampled.Arguments, true
			}
		}
	}
	c.Arguments = text
}

// AddAnswer adds the choices of a call's answer to the prompt that ends at p. prompt is all ids of the
// prompt; nil if they are not known.
func (t *Tree) AddAnswer(p Path, call int, prompt []int32, choices []formats.Message, when Span) {
	delta, broke := chat.PromptDelta(t.Messages, p.At, prompt, p.Changed)
	for k, m := range choices {
		m.Call, m.PromptDeltaIDs, m.PrefixBreak = int32(call), delta, broke
		t.AddSampled(p, m, k, when)
	}
}
