package audit

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// toolsLost wants a definition of the tools that were called, and an answer to
// each call that the conversation goes on from.
type toolsLost struct{ count }

func newToolsLost() Looker { return &toolsLost{} }

func (c *toolsLost) Row(r *Row) {
	t := r.Trajectory
	if t == nil || !r.Valid() {
		return
	}
	c.of++
	next := followers(t)
	for i := range t.Messages {
		m := &t.Messages[i]
		if len(m.ToolCalls) == 0 || !m.Sampled {
			continue
		}
		if m.Call >= 0 && int(m.Call) < len(t.Calls) && t.Calls[m.Call].Tools < 0 {
			c.add(r, "without definitions", fmt.Sprintf("message %d calls %s", i, m.ToolCalls[0].Name))
			return
		}
		if answers, on := answered(t, next, i); on >= 0 && answers < len(m.ToolCalls) {
			c.add(r, "without answers", fmt.Sprintf("message %d calls %s, %d times in all; %d answers come before the %s's message %d",
				i, m.ToolCalls[0].Name, len(m.ToolCalls), answers, t.Messages[on].Role, on))
			return
		}
	}
}

// followers is the first message that continues each, or -1.
func followers(t *formats.Trajectory) []int {
	next := make([]int, len(t.Messages))
	for i := range next {
		next[i] = -1
	}
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if p := int(t.Messages[i].Parent); p >= 0 && p < i {
			next[p] = i
		}
	}
	return next
}

// answered counts the tools' messages after message i, and returns the message
// that goes on from them, or -1 when the conversation ends there.
func answered(t *formats.Trajectory, next []int, i int) (answers, on int) {
	for on = next[i]; on >= 0; on = next[on] {
		if role := t.Messages[on].Role; role != "tool" && role != "function" {
			return answers, on
		}
		answers++
	}
	return answers, -1
}

func (c *toolsLost) Found() []Finding { return c.over(0, "trajectories have lost their tools") }
