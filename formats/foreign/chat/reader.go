package chat

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/training"
)

// Reader builds a conversation from messages as files store them: those of the
// chat completions API, ShareGPT's turns, and the messages of Rollmill's own
// rows.
type Reader struct {
	importers.Conversation
	Call   formats.Call      // what the calls of sampled messages have in common
	System string            // the system prompt, which the first message may repeat
	Tree   bool              // messages are those of Rollmill's rows, with the members parent and call
	Called bool              // the calls that they name are known; else each answer is a call of its own
	Record *importers.Record // that is read

	other  []member
	losses []training.MessageLoss
}

// member is a member of a message that no column holds.
type member struct {
	message int
	key     string
	value   []byte
}

type message struct {
	formats.Message
	target       bool
	weight       *float64          // in the loss; nil for 1
	weighs       member            // the member that says so
	trained      member            // the member that says that it trains; no key when there is none
	sampled      int8              // 1 and 0 as the member sampled says; -1 when there is none
	parent, call int32             // missing when there is none
	calls        bool              // its text is a tool call: a turn of ShareGPT
	rest         []byte            // what its tool calls have no field for
	record       *importers.Record // nil when it is JSON text: datasets added no nulls to that
}

// missing is an index that a message does not have.
const missing = -2

// Add adds the messages of a list, of which the model's are sampled or input.
func (c *Reader) Add(list []byte, sampled bool) {
	all, from := elements(list), 0
	if sampled {
		c.Calls = slices.Grow(c.Calls, max(1, len(all)/2))
	} else {
		from = len(all)
	}
	c.Messages = slices.Grow(c.Messages, len(all)+1) // and a system prompt
	c.add(all, from)
}

// add adds messages, of which the model's are sampled from one on.
func (c *Reader) add(all [][]byte, from int) {
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "message %d", len(c.Messages)))
		}
	}()
	for i, raw := range all {
		c.AddMessage(raw, i >= from)
	}
}

// AddList adds the messages of a conversation, as a list or as JSON text with
// one; the model's are sampled.
func (c *Reader) AddList(v []byte) {
	list, plain := listOf(c.Record, v)
	if list == nil {
		must.Fail("it is the text %s, not a list of messages", importers.Brief([]byte(plain)))
	}
	c.Add(list, true)
}

// AddText adds a message that is only text.
func (c *Reader) AddText(role, text string, sampled bool) {
	c.begin(role, text, 0)
	if m := (formats.Message{Role: role, Content: text}); sampled {
		c.answer(m, true)
	} else {
		c.Input(m)
	}
}

// begin adds the system prompt before the first message, unless that is the
// system prompt itself. from is where its other members are.
func (c *Reader) begin(role, content string, from int) {
	if c.System == "" || len(c.Messages) > 0 {
		return
	}
	if role == "system" || role == "developer" {
		if content != c.System {
			must.Fail("it is not the system prompt that the row has as a column")
		}
		return
	}
	c.Input(formats.Message{Role: "system", Content: c.System})
	for i := from; i < len(c.other); i++ {
		c.other[i].message++
	}
}

// AddMessage adds a message. If it is the model's, it is sampled or input.
func (c *Reader) AddMessage(raw []byte, sampled bool) {
	m := message{target: true, sampled: -1, parent: missing, call: missing}
	from := len(c.other)
	c.read(&m, raw)
	if m.Role == "" {
		must.Fail("it has no role: %s", importers.Brief(raw))
	}
	if !slices.Contains(importers.Roles, m.Role) {
		must.Fail("unknown role %q; use one of %v, or map it, as by --map role.%s=tool", m.Role, importers.Roles, m.Role)
	}
	if m.trained.key != "" && m.Role != "assistant" {
		c.other = append(c.other, m.trained) // nothing trains on input
	}
	c.begin(m.Role, m.Content, from)
	if m.sampled >= 0 {
		sampled = m.sampled == 1
	} else if m.Role != "assistant" {
		sampled = false
	}
	if c.Tree && m.parent != missing {
		if m.parent < -1 || int(m.parent) >= len(c.Messages) {
			must.Fail("parent %d does not come before it", m.parent)
		}
		c.Continue(int(m.parent))
	}
	if m.call != missing {
		if c.Called {
			c.keep(m)
			return
		}
		sampled = m.call >= 0
	}
	if c.parallel(&m, sampled) {
		last := len(c.Messages) - 1
		for i := from; i < len(c.other); i++ {
			c.other[i].message, c.other[i].key = last, fmt.Sprintf("%s.%d", c.other[i].key, len(c.Messages[last].ToolCalls))
		}
		c.Messages[last].ToolCalls = append(c.Messages[last].ToolCalls, m.ToolCalls...)
		return
	}
	if !sampled {
		c.Input(m.Message)
		return
	}
	c.answer(m.Message, m.target)
	if m.weight != nil && m.target {
		c.losses = append(c.losses, training.MessageLoss{Message: int32(len(c.Messages) - 1), Loss: training.LossRL,
			Weight: *m.weight})
		m.weighs.message = len(c.Messages) - 1
		c.other = append(c.other, m.weighs)
	}
}

// parallel reports whether a message has nothing but further calls of the answer before
// it: some formats write each of several parallel calls as a turn.
func (c *Reader) parallel(m *message, sampled bool) bool {
	if c.Tree || len(c.Messages) == 0 || len(m.ToolCalls) == 0 || m.Role != "assistant" || m.Content != "" ||
		m.ContentParts != "" || m.Reasoning != "" || m.TokenIDs != nil || m.weight != nil {
		return false
	}
	last := &c.Messages[len(c.Messages)-1]
	return last.Role == "assistant" && len(last.ToolCalls) > 0 && last.TokenIDs == nil && last.Sampled == sampled &&
		(!sampled || c.Calls[last.Call].Target == m.target)
}

// nameCalls gives calls without ids, and the results that follow them, ids: those of a
// call of the same name, else of the next one.
func (c *Reader) nameCalls() {
	for i := range c.Messages {
		calls := c.Messages[i].ToolCalls
		if len(calls) == 0 || slices.ContainsFunc(calls, func(t formats.ToolCall) bool { return t.ID != "" }) {
			continue
		}
		open := make([]int, len(calls))
		for k := range calls {
			open[k], calls[k].ID = k, fmt.Sprintf("call_%d_%d", i, k)
		}
		for n := i + 1; n < len(c.Messages) && c.Messages[n].Role == "tool" && len(open) > 0; n++ {
			if m := &c.Messages[n]; m.ToolCallID == "" {
				k := max(0, slices.IndexFunc(open, func(k int) bool { return calls[k].Name == m.Name }))
				m.ToolCallID = calls[open[k]].ID
				open = slices.Delete(open, k, k+1)
			}
		}
	}
}

// Into sets the conversation of a row, and the weights of its answers.
func (c *Reader) Into(row *formats.Trajectory) {
	if !c.Tree {
		c.nameCalls()
	}
	c.Conversation.Into(row)
	row.Losses = c.losses
}

// keep adds a message that names its call.
func (c *Reader) keep(m message) {
	if sampled := m.call >= 0; m.sampled >= 0 && sampled != (m.sampled == 1) {
		must.Fail("sampled is %v, but its call is %d", m.sampled == 1, m.call)
	}
	i := c.Input(m.Message)
	c.Messages[i].Call, c.Messages[i].Sampled = m.call, m.call >= 0
}

func (c *Reader) answer(m formats.Message, target bool) {
	call := c.Call
	call.Target = target
	c.Sampled(m, call)
}
