package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
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

// message is a message that is being read.
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
	var some [16][]byte
	all := some[:0]
	for raw := range jsontext.Elements(list) {
		all = append(all, raw)
	}
	c.begins(len(all), sampled)
	if sampled {
		c.add(all, 0)
	} else {
		c.add(all, len(all))
	}
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

// begins makes room for the first messages.
func (c *Reader) begins(n int, sampled bool) {
	if c.Messages != nil {
		return
	}
	if sampled {
		c.Calls = c.Record.Room.Calls(max(1, n/2))
	}
	if c.System != "" || !sampled {
		n++ // the system prompt, or the answer
	}
	c.Messages = c.Record.Room.Messages(n)
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

// marker is the member by which exported rows tell datasets that messages are
// JSON (chat.Template).
const marker = "json"

func (c *Reader) read(m *message, raw []byte) {
	if text := []byte(jsontext.Unquote(raw)); len(text) > 0 && text[0] == '{' && jsontext.Valid(text) {
		raw = text // a column of type JSON, as datasets and Rollmill's own exports have it
	} else {
		m.record = c.Record
	}
	if len(raw) == 0 || raw[0] != '{' {
		must.Fail("it is %s, not an object", importers.Brief(raw))
	}
	for key, v := range jsontext.Members(raw) {
		if string(v) == "null" || string(key) == marker && string(v) == "true" {
			continue
		}
		if !m.set(key, v, c) {
			c.other = append(c.other, member{len(c.Messages), string(key), v})
		}
	}
	m.trained.message = len(c.Messages)
	if m.calls {
		m.callText()
	}
	if m.rest != nil {
		c.other = append(c.other, member{len(c.Messages), "tool_calls", m.rest})
	}
}

// set reads one member, and reports whether a message has a place for it.
func (m *message) set(key, v []byte, c *Reader) (known bool) {
	switch string(key) {
	case "role", "from":
		m.role(key, v, c.Record)
		return true
	case "content":
		switch {
		case v[0] == '"' && m.ContentParts == "":
			m.Content, known = jsontext.View(v), true
		case v[0] == '[':
			v = value.TextParts(m.record.Sparse(v))
			fallthrough
		default:
			known = value.ReadField(&m.Message, key, v)
		}
		if m.ContentParts != "" && value.OnlyText(m.ContentParts) {
			m.ContentParts = "" // one part of text is the same as the text
		}
		return known
	case "value", "text", "system_prompt": // the last two in conversations of SWE agents
		if m.Content != "" {
			return false
		}
		m.value(key, v)
		return true
	case "reasoning_content", "reasoning", "thinking":
		if v[0] != '"' {
			must.Fail("its %s is %s, not text", key, importers.Brief(v))
		}
		if m.Reasoning == "" {
			m.Reasoning = jsontext.Unquote(v)
		}
		return true
	case "tool_call_ids": // of SWE-agent
		var ids [][]byte
		for id := range jsontext.Elements(v) {
			ids = append(ids, id)
		}
		if len(ids) == 1 && ids[0][0] == '"' && m.ToolCallID == "" {
			m.ToolCallID, known = jsontext.Unquote(ids[0]), true
		}
		return known
	case "tool_calls":
		m.toolCalls(v)
		return true
	case "function_call":
		if v[0] != '{' || !jsontext.ParseObject(v).Has("name") {
			return string(jsontext.WithoutNulls(v)) == "{}"
		}
		m.toolCalls(slices.Concat([]byte("["), v, []byte("]")))
		return true
	case "weight", "train", "training", "loss", "loss_weight", "loss_scale", "step_loss_mask", "is_demo":
		return m.trains(key, v)
	case "sampled":
		on, ok := value.Truth(v)
		if m.sampled = 0; on {
			m.sampled = 1
		}
		return ok
	case "parent":
		number(&m.parent, c.Tree, key, v)
		return c.Tree
	case "call":
		number(&m.call, c.Tree, key, v)
		return c.Tree
	}
	return m.setTokens(key, v) || value.ReadField(&m.Message, key, v)
}

// trains reads a member that says whether a message trains, or how much, and reports
// whether its value does: 1 and 0, true and false, and other weights above 0 where the
// name is that of a weight.
func (m *message) trains(key, v []byte) bool {
	on, ok := value.Truth(v)
	switch string(key) {
	case "is_demo":
		on = !on
	case "weight", "loss_weight", "loss_scale":
		if x, err := value.Number(v); !ok && err == nil && x != nil && *x > 0 {
			m.weight, m.weighs, ok = x, member{key: string(key), value: v}, true
		}
	}
	if !ok {
		return false
	}
	if on {
		m.trained = member{key: string(key), value: v}
	}
	m.target = m.target && on
	return true
}

// setTokens reads a member that only messages of Rollmill's rows have.
func (m *message) setTokens(key, v []byte) (known bool) {
	var err error
	switch string(key) {
	case "token_ids":
		m.TokenIDs, err = value.TokenIDs(v)
	case "logprobs":
		if v[0] == '{' {
			return false // as in an answer of the chat completions API
		}
		m.Logprobs, err = value.Logprobs(v)
	case "prompt_delta_ids":
		m.PromptDeltaIDs, err = value.TokenIDs(v)
	case "token_texts":
		for e := range jsontext.Elements(v) {
			m.TokenTexts = append(m.TokenTexts, jsontext.Unquote(e))
		}
	case "finish_reason":
		m.FinishReason = jsontext.Unquote(v)
	case "branch":
		m.Branch = jsontext.Unquote(v)
	case "prefix_break":
		m.PrefixBreak = jsontext.Unquote(v)
	case "content_parts":
		if string(v) != `""` {
			m.ContentParts, err = value.Array(v)
		}
	default:
		return false
	}
	if err != nil {
		must.Fail("its %s: %w", key, err)
	}
	return true
}

// role sets the role. Names that programs use for the same role are one.
func (m *message) role(key, v []byte, r *importers.Record) {
	if v[0] != '"' {
		must.Fail("its %s is %s, not text", key, importers.Brief(v))
	}
	if r != nil {
		if role, mapped := r.Role(jsontext.View(v)); mapped {
			m.Role = role
			return
		}
	}
	switch string(v) {
	case `"user"`, `"human"`, `"Human"`, `"USER"`, `"User"`, `"prompter"`:
		m.Role = "user"
	case `"assistant"`, `"gpt"`, `"chatgpt"`, `"bot"`, `"model"`, `"ai"`, `"Assistant"`, `"ASSISTANT"`, `"bing"`,
		`"bard"`, `"gpt4"`, `"agent"`:
		m.Role = "assistant"
	case `"system"`, `"System"`, `"SYSTEM"`:
		m.Role = "system"
	case `"tool"`, `"function"`, `"observation"`, `"function_response"`, `"tool_response"`, `"ipython"`:
		m.Role = "tool"
	case `"function_call"`, `"tool_call"`:
		m.Role, m.calls = "assistant", true
	default:
		m.Role = jsontext.Unquote(v)
	}
}

// value sets the text of a turn.
func (m *message) value(key, v []byte) {
	if v[0] != '"' {
		must.Fail("its %s is %s, not text", key, importers.Brief(v))
	}
	m.Content = jsontext.View(v)
}

// callText makes tool calls of the content: {"name": …, "arguments": …}, or a
// list of them.
func (m *message) callText() {
	text := []byte(strings.TrimSpace(m.Content))
	if !jsontext.Valid(text) {
		must.Fail("its function call is not JSON: %s", importers.Brief(text))
	}
	if text[0] == '{' {
		text = []byte("[" + string(text) + "]")
	}
	m.Content = ""
	m.toolCalls(text)
}

func (m *message) toolCalls(v []byte) {
	calls, rest, err := ToolCalls(v, m.record)
	if err != nil {
		importers.Refuse(err)
	}
	m.ToolCalls = append(m.ToolCalls, calls...)
	m.rest = append(m.rest, rest...)
}

// ToolCalls reads a list of tool calls of a record, or JSON text with one. rest is a list of what the calls have no field
// for, nil for nothing.
func ToolCalls(v []byte, r *importers.Record) (calls []formats.ToolCall, rest []byte, err error) {
	if v[0] == '"' {
		if v = []byte(strings.TrimSpace(jsontext.Unquote(v))); len(v) == 0 {
			return nil, nil, nil
		}
		r = nil // datasets adds no nulls to text
	}
	if v[0] != '[' || !jsontext.Valid(v) {
		return nil, nil, fmt.Errorf("its tool_calls are %s, not a list", importers.Brief(v))
	}
	var rests value.Rests
	for raw := range jsontext.Elements(v) {
		if string(raw) == "null" {
			continue
		}
		call, more := value.ReadCall(r.Sparse(raw), jsontext.AnyText)
		if call.Name == "" {
			return nil, nil, fmt.Errorf("a tool call has no function with a name: %s", importers.Brief(raw))
		}
		calls = append(calls, call)
		rests.Add(more)
	}
	return calls, rests.JSON(), nil
}

// OtherInto adds the members that no column holds to the metadata.
func (c *Reader) OtherInto(m *importers.Metadata) {
	for _, o := range c.other {
		m.OfMessage(o.message, o.key, o.value)
	}
}

// number reads an index, if it is wanted.
func number(to *int32, wanted bool, key, v []byte) {
	if !wanted {
		return
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(v), ".0"), 10, 32)
	if err != nil || n < -1 {
		must.Fail("its %s is %s, not an index", key, importers.Brief(v))
	}
	*to = int32(n)
}
