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
)

// marker is the member by which exported rows tell datasets that messages are JSON (chat.Template).
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
		if ids := elements(v); len(ids) == 1 && ids[0][0] == '"' && m.ToolCallID == "" {
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

// callText makes tool calls of the content: {"name": …, "arguments": …}, or a list of them.
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
