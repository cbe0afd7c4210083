package redaction

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Trajectory redacts a row in place. A row with a payload digest gets a new one when it changed.
func (r *Rules) Trajectory(t *formats.Trajectory) Counts {
	if r == nil {
		return Counts{}
	}
	var c Counts
	r.drop(t, &c)
	conversation(t, func(_ place, text *string) { *text = r.text(*text, &c) })
	if c.Total() > 0 && t.DropTokens() {
		c.Tokens = 1
	}
	t.Example = apply(t.Example, r.edits(r.example, &c))
	t.Metadata = apply(t.Metadata, r.edits(r.meta, &c))
	rest(t, func(_ place, text *string) { *text = r.text(*text, &c) })
	if c.Total() > 0 {
		c.Rows = 1
		if t.HasPayloadDigest() {
			t.SetPayloadDigest()
		}
	}
	return c
}

// Pair redacts a preference in place.
func (r *Rules) Pair(p *formats.Pair) Counts {
	return r.answers(&p.Tools, &p.Prompt, &p.Chosen, &p.Rejected)
}

// Label redacts a single answer in place.
func (r *Rules) Label(l *formats.Label) Counts {
	return r.answers(&l.Tools, &l.Prompt, &l.Completion)
}

// answers redacts a row of which the first list of messages is the prompt of the others.
func (r *Rules) answers(tools, prompt *string, lists ...*string) Counts {
	var c Counts
	if r == nil {
		return c
	}
	called := map[string]string{}
	for _, list := range append([]*string{prompt}, lists...) {
		*list = r.text(r.dropJSON(*list, called, &c), &c)
	}
	*tools = r.text(*tools, &c)
	if c.Total() > 0 {
		c.Rows = 1
	}
	return c
}

func (r *Rules) edits(fields []field, c *Counts) (out []edit) {
	for _, f := range fields {
		out = append(out, edit{f.path, f.put, f.remove, func() { c.found(f.name, 1) }})
	}
	return out
}

// drop removes the content of messages by their role or tool.
func (r *Rules) drop(t *formats.Trajectory, c *Counts) {
	for _, rule := range r.roles {
		for i := range t.Messages {
			if m := &t.Messages[i]; rule.selects(m.Role, func() string { return toolOf(t, i) }) {
				rule.empty(c, &m.Content, &m.ContentParts, &m.Reasoning)
			}
		}
		for i := range t.Candidates {
			if a := &t.Candidates[i]; rule.role == "assistant" {
				rule.empty(c, &a.Content, &a.Reasoning)
			}
		}
	}
}

// selects reports whether a message is meant; tool returns the tool whose result it is.
func (m *message) selects(role string, tool func() string) bool {
	if m.role != "" {
		return role == m.role
	}
	return (role == "tool" || role == "function") && tool() == m.tool
}

// empty replaces a content, and removes the other forms of it.
func (m *message) empty(c *Counts, content *string, others ...*string) {
	had := *content != "" && *content != m.put
	for _, text := range others {
		had = had || *text != ""
		*text = ""
	}
	if had {
		*content = m.put
		c.found(m.name, 1)
	}
}

// toolOf returns the tool whose result a message is: the message names it, or
// the call that it answers does.
func toolOf(t *formats.Trajectory, i int) string {
	m := &t.Messages[i]
	if m.Name != "" {
		return m.Name
	}
	for n, p := 0, m.Parent; p >= 0 && int(p) < len(t.Messages) && n < len(t.Messages); n, p = n+1, t.Messages[p].Parent {
		for _, call := range t.Messages[p].ToolCalls {
			if m.ToolCallID != "" && call.ID == m.ToolCallID {
				return call.Name
			}
		}
	}
	return ""
}

// dropJSON is drop for a JSON array of messages. called has the tools by the
// ids of the calls so far.
func (r *Rules) dropJSON(list string, called map[string]string, c *Counts) string {
	if len(r.roles) == 0 {
		return list
	}
	var messages []struct {
		Role       string          `json:"role"`
		Name       string          `json:"name"`
		ToolCallID string          `json:"tool_call_id"`
		Content    json.RawMessage `json:"content"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal([]byte(list), &messages) != nil {
		return list
	}
	var edits []edit
	for i, m := range messages {
		for _, call := range m.ToolCalls {
			called[call.ID] = call.Function.Name
		}
		tool := m.Name
		if tool == "" && m.ToolCallID != "" {
			tool = called[m.ToolCallID]
		}
		for _, rule := range r.roles {
			if !rule.selects(m.Role, func() string { return tool }) {
				continue
			}
			put, at := string(jsontext.AppendString(nil, rule.put)), strconv.Itoa(i)
			if had := string(m.Content); had != "" && had != "null" && had != put {
				edits = append(edits, edit{[]string{at, "content"}, put, false, func() { c.found(rule.name, 1) }})
			}
			for _, key := range []string{"reasoning", "reasoning_content"} {
				edits = append(edits, edit{[]string{at, key}, "", true, func() { c.found(rule.name, 1) }})
			}
			break
		}
	}
	return apply(list, edits)
}

// place names a text of a row, as in messages[3].content.
type place struct {
	list  string // "" for a column of the row itself
	index int
	name  string
}

func (p place) String() string {
	if p.list == "" {
		return p.name
	}
	return fmt.Sprintf("%s[%d].%s", p.list, p.index, p.name)
}

// conversation calls f with the texts that the tokens of a row spell out.
func conversation(t *formats.Trajectory, f func(place, *string)) {
	calls := func(list string, i int, calls []formats.ToolCall) {
		for k := range calls {
			f(place{list, i, "tool_calls"}, &calls[k].Name)
			f(place{list, i, "tool_calls"}, &calls[k].Arguments)
		}
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		f(place{"messages", i, "content"}, &m.Content)
		f(place{"messages", i, "content_parts"}, &m.ContentParts)
		f(place{"messages", i, "reasoning"}, &m.Reasoning)
		f(place{"messages", i, "name"}, &m.Name)
		calls("messages", i, m.ToolCalls)
	}
	for i := range t.Candidates {
		a := &t.Candidates[i]
		f(place{"candidates", i, "content"}, &a.Content)
		f(place{"candidates", i, "reasoning"}, &a.Reasoning)
		calls("candidates", i, a.ToolCalls)
	}
	for i := range t.ToolSets {
		f(place{"tool_sets", i, "definitions"}, &t.ToolSets[i])
	}
}

// rest calls f with the other texts of a row.
func rest(t *formats.Trajectory, f func(place, *string)) {
	f(place{name: "example"}, &t.Example)
	f(place{name: "metadata"}, &t.Metadata)
	f(place{name: "answer"}, &t.Answer)
	f(place{name: "error"}, &t.Error)
	for i := range t.Candidates {
		f(place{"candidates", i, "turn"}, &t.Candidates[i].Turn)
		f(place{"candidates", i, "metadata"}, &t.Candidates[i].Metadata)
	}
	for i := range t.Calls {
		f(place{"calls", i, "sampling"}, &t.Calls[i].Sampling)
		f(place{"calls", i, "error"}, &t.Calls[i].Error)
		f(place{"calls", i, "endpoint"}, &t.Calls[i].Endpoint)
	}
	for i := range t.Artifacts {
		f(place{"artifacts", i, "content"}, &t.Artifacts[i].Content)
	}
	for i := range t.Rewards {
		f(place{"rewards", i, "error"}, &t.Rewards[i].Error)
		f(place{"rewards", i, "reason"}, &t.Rewards[i].Reason)
	}
}
