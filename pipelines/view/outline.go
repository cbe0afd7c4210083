package view

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// maxAbove is how far above a tool's result its call is looked for.
const maxAbove = 100

// outlineItem is a message in the outline of a conversation.
type outlineItem struct {
	Number, Depth int
	Role, Tool    string   // Tool: the tools that it calls, or whose result it is
	Tokens        int      // sampled
	Reward        *float64 // of the step, nil if it is not known
	Sampled       bool
	Break         bool // its prompt does not continue the tokens before it
}

func outlineOf(t *formats.Trajectory, at node, steps map[int]float64) outlineItem {
	m := &t.Messages[at.message]
	o := outlineItem{Number: at.message, Depth: min(at.depth, 6), Role: name(m.Role), Tool: name(toolOf(t, at.message)),
		Tokens: max(len(m.TokenIDs), len(m.Logprobs)), Sampled: m.Sampled, Break: m.PrefixBreak != ""}
	if r, known := steps[at.message]; known {
		o.Reward = &r
	}
	return o
}

// toolOf returns the names of the tools that a message calls, or of the one that it is
// the result of; else the message's own name.
func toolOf(t *formats.Trajectory, i int) string {
	m := &t.Messages[i]
	var names []string
	for _, c := range m.ToolCalls {
		names = append(names, c.Name)
	}
	if names != nil || m.ToolCallID == "" || m.Name != "" {
		return strings.Join(append(names, m.Name), " ")
	}
	for before, n := i, 0; before >= 0 && before < len(t.Messages) && n < maxAbove; before, n = int(t.Messages[before].Parent), n+1 {
		for _, c := range t.Messages[before].ToolCalls {
			if c.ID == m.ToolCallID {
				return c.Name
			}
		}
	}
	return ""
}

// stepRewards returns the shaped rewards by message: there is one for each message of the
// main path that the model wrote. It returns nil if their numbers differ.
func stepRewards(t *formats.Trajectory) map[int]float64 {
	out := map[int]float64{}
	for _, i := range t.Main() {
		if n := len(out); t.Messages[i].Sampled && n < len(t.ShapedRewards) {
			out[i] = t.ShapedRewards[n]
		} else if t.Messages[i].Sampled {
			return nil
		}
	}
	if len(out) < len(t.ShapedRewards) {
		return nil
	}
	return out
}
