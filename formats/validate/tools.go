package validate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// noTools counts trajectories in which a sampled message calls a tool although its
// request defined none.
func noTools(c *Count, r *Row, t *formats.Trajectory) {
	for i := range t.Messages {
		m := &t.Messages[i]
		if len(m.ToolCalls) > 0 && m.Sampled && m.Call >= 0 && int(m.Call) < len(t.Calls) && t.Calls[m.Call].Tools < 0 {
			c.Add(r, "", "message %d calls %s", i, m.ToolCalls[0].Name)
			return
		}
	}
}

// unansweredCalls counts trajectories that go on although not all calls of a sampled
// message are answered.
func unansweredCalls(c *Count, r *Row, t *formats.Trajectory) {
	if i, answers, on := unanswered(t); i >= 0 {
		calls := t.Messages[i].ToolCalls
		c.Add(r, "", "message %d calls %s, %d times in all; %d answers come before the %s's message %d",
			i, calls[0].Name, len(calls), answers, t.Messages[on].Role, on)
	}
}

// unanswered returns the first sampled message with calls that are not all
// answered although the conversation goes on, the number of their answers, and
// the message with which it goes on; message is -1 when there is none.
func unanswered(t *formats.Trajectory) (message, answers, on int) {
	var next []int
	for i := range t.Messages {
		m := &t.Messages[i]
		if len(m.ToolCalls) == 0 || !m.Sampled || i == len(t.Messages)-1 {
			continue
		}
		if next == nil {
			next = followers(t)
		}
		if answers, on = answered(t, next, i); on >= 0 && answers < len(m.ToolCalls) {
			return i, answers, on
		}
	}
	return -1, 0, -1
}

// followers returns, for each message, the first message that continues it, or -1.
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

// answered counts the tool messages after message i, and returns the message
// that continues them, or -1 when the conversation ends there.
func answered(t *formats.Trajectory, next []int, i int) (answers, on int) {
	for on = next[i]; on >= 0; on = next[on] {
		if role := t.Messages[on].Role; role != "tool" && role != "function" {
			return answers, on
		}
		answers++
	}
	return answers, -1
}

// toolCalls counts trajectories with a tool message that answers no call: the calls
// were lost, and a trainer would teach the model to continue without them.
func toolCalls(c *Count, r *Row, t *formats.Trajectory) {
	for i := range t.Messages {
		if t.Messages[i].Role == "tool" && !called(t, i) {
			c.Add(r, "", "message %d answers call %q, which no message before it makes", i, t.Messages[i].ToolCallID)
			return
		}
	}
}

// foreignCalls counts trajectories with tool calls in a message that is not the assistant's.
func foreignCalls(c *Count, r *Row, t *formats.Trajectory) {
	for i := range t.Messages {
		if m := &t.Messages[i]; len(m.ToolCalls) > 0 && m.Role != "assistant" {
			c.Add(r, m.Role, "message %d of the %s calls %s", i, m.Role, m.ToolCalls[0].Name)
			return
		}
	}
}

// called reports whether a message before a tool message makes the call that it
// answers; any call, also one in a text, when it does not name one.
func called(t *formats.Trajectory, i int) bool {
	id := t.Messages[i].ToolCallID
	for p := t.Messages[i].Parent; p >= 0 && int(p) < i; p = t.Messages[p].Parent {
		m := &t.Messages[p]
		if id == "" && m.Role == "assistant" && toolMark(m.Content) != "" {
			return true
		}
		for _, call := range m.ToolCalls {
			if id == "" || call.ID == "" || call.ID == id {
				return true
			}
		}
		i = int(p)
	}
	return false
}

// toolMarks begin a tool call in the text of a model whose engine did not parse it.
var toolMarks = []string{"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|tool_call_begin|>",
	"<|tool▁call▁begin|>"}

func unparsedTools(c *Count, r *Row) {
	r.trained(func(i int, m *formats.Message) bool {
		c.Of++
		if mark := toolMark(m.Content); mark != "" && len(m.ToolCalls) == 0 {
			c.Add(r, mark, "message %d", i)
		}
		return true
	})
}

func toolMark(text string) string {
	for _, mark := range toolMarks {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

// undefinedTool counts trajectories that call a tool which its request's definitions
// do not name. It remembers the names that sets of definitions have, since the rows
// of a file usually share a few sets.
type undefinedTool struct {
	Count
	known map[xxh3.Uint128][]string
}

// maxDefinitions is how many sets are remembered.
const maxDefinitions = 256

func newUndefinedTool() checker { return &undefinedTool{known: map[xxh3.Uint128][]string{}} }

func (c *undefinedTool) Row(r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	c.Of++
	for i := range t.Messages {
		m := &t.Messages[i]
		for k := range m.ToolCalls {
			if name := m.ToolCalls[k].Name; !c.defines(t, m, name) {
				c.Add(r, "", "message %d calls %s", i, name)
				return
			}
		}
	}
}

// defines reports whether a tool is among those that a message's request
// defined; true when it defined none, or they cannot be read.
func (c *undefinedTool) defines(t *formats.Trajectory, m *formats.Message, name string) bool {
	if !m.Sampled || m.Call < 0 || int(m.Call) >= len(t.Calls) {
		return true
	}
	n := t.Calls[m.Call].Tools
	if n < 0 || int(n) >= len(t.ToolSets) {
		return true
	}
	names := c.names(t.ToolSets[n])
	return names == nil || slices.Contains(names, name)
}

// names returns the names in a set: a JSON array of OpenAI's
// {"type":"function","function":{"name":...}} or only the inner objects. It
// returns nil when the set cannot be read.
func (c *undefinedTool) names(tools string) []string {
	key := xxh3.HashString128(tools)
	names, known := c.known[key]
	if known {
		return names
	}
	var list []struct {
		Name     string
		Function struct{ Name string }
	}
	if json.Unmarshal([]byte(tools), &list) == nil {
		names = []string{}
		for _, d := range list {
			if d.Function.Name != "" {
				d.Name = d.Function.Name
			}
			names = append(names, d.Name)
		}
	}
	if len(c.known) < maxDefinitions {
		c.known[key] = names
	}
	return names
}
