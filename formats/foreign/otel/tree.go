package otel

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// call adds a call: its prompt, as far as it is new, and its answer.
func (t *trace) call(s *sourceSpan) {
	defer must.At("span %s", s.id)
	c := readCall(s)
	nested := s.nested
	judge := t.within(s, kindJudge) != nil
	c.Target = !judge && (!nested || c.Model == t.model)
	if agent := t.within(s, kindAgent); agent != nil {
		c.Function = cmp.Or(agent.text("gen_ai.agent.name", "agent.name"), agent.name)
	}
	t.content = t.content || len(c.prompt)+len(c.answers) > 0
	t.walk(c.prompt, t.agent(s))
	if !nested && !judge {
		t.failure = c.failure
	}
	if len(c.answers) == 0 {
		c.Tools = -1
		t.Calls = append(t.Calls, c.Call)
		if rest := unread(s.attrs); len(rest) > 0 {
			t.Meta.Add(fmt.Sprintf("call_%d", len(t.Calls)-1), rest.Bytes())
		}
		return
	}
	t.answered = t.answered || c.Target
	t.Offer(c.tools)
	m := c.answers[0]
	m.Branch = ""
	if len(c.prompt) > 0 {
		m.Branch = t.Again()
	}
	at := t.Sampled(m.Message, c.Call)
	t.Source = cmp.Or(t.Source, c.source)
	t.Meta.KeepRest(at, m.Others)
	if rest := unread(s.attrs); len(rest) > 0 {
		t.Meta.OfMessage(at, "attributes", rest.Bytes())
	}
	for i := range c.answers[1:] {
		t.Alternative(at, &c.answers[1+i].Message)
	}
}

// walk follows a prompt among the messages of an agent, "" for the outer one, and
// adds what is new of it.
func (t *trace) walk(prompt []importers.Read, agent string) {
	t.Continue(-1)
	for i, m := range prompt {
		at := t.Find(&m.Message, func(known int) bool { return i > 0 || t.roots[known] == agent })
		if at < 0 {
			if m.Branch = t.Diverges(); i == 0 {
				if m.Branch = ""; agent != "" || t.begun {
					m.Branch = importers.BranchSubagent
				}
				t.roots[len(t.Messages)] = agent
				t.begun = t.begun || agent == ""
			}
			at = t.Input(m.Message)
			t.Meta.KeepRest(at, m.Others)
		}
		t.Continue(at)
	}
}

// agent returns the id of the agent whose messages are a tree of their own: of a
// call that is nested, or of an evaluator.
func (t *trace) agent(s *sourceSpan) string {
	for _, kind := range []string{kindJudge, kindAgent} {
		if p := t.within(s, kind); p != nil && (kind == kindJudge || s.nested) {
			return p.id
		}
	}
	if s.nested {
		return s.parent
	}
	return ""
}

// results adds the results of tools that no later call was given: the trace ended with them.
func (t *trace) results() {
	after := map[string]int{}
	for i := range t.Messages {
		m := &t.Messages[i]
		for _, c := range m.ToolCalls {
			if m.Sampled && c.ID != "" {
				after[c.ID] = i
			}
		}
		if m.Role == "tool" {
			delete(after, m.ToolCallID)
		}
	}
	last := map[int]int{}
	for _, s := range t.spans {
		id := s.text("gen_ai.tool.call.id", "tool_call.id", "tool.id")
		at, open := after[id]
		result := cmp.Or(string(s.attrs.Get("gen_ai.tool.call.result")), string(s.attrs.Get("output.value")),
			string(s.attrs.Get("langfuse.observation.output")))
		if s.kind != kindTool || !open || result == "" {
			continue
		}
		delete(after, id)
		m := formats.Message{Role: "tool", ToolCallID: id, Name: s.text("gen_ai.tool.name", "tool.name"),
			Content: jsontext.AnyText([]byte(result))}
		parent, more := last[at]
		if !more {
			parent = at
		}
		t.Continue(parent)
		last[at] = t.Input(m)
	}
}

// sort sets what each span is of and returns the calls of models, in the order in
// which they are added: those of subagents first, each in the order of time.
func (t *trace) sort() (calls []*sourceSpan) {
	for _, s := range t.spans {
		if s.kind == "" {
			s.kind = kindOf(s)
		}
	}
	for _, s := range t.spans {
		if s.kind != kindModel {
			continue
		}
		for p := range t.above(s) {
			p.inner = true
		}
	}
	for _, s := range t.spans {
		if s.kind == kindModel && !s.inner {
			s.nested = t.nested(s)
			calls = append(calls, s)
		}
	}
	slices.SortStableFunc(calls, func(a, b *sourceSpan) int {
		if a.nested != b.nested {
			return map[bool]int{true: -1, false: 1}[a.nested]
		}
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
	for _, s := range calls {
		if !s.nested {
			t.model = s.model()
			break
		}
	}
	return calls
}

// above yields the spans that a span is in, from the inside.
func (t *trace) above(s *sourceSpan) func(func(*sourceSpan) bool) {
	return func(yield func(*sourceSpan) bool) {
		for range maxDepth {
			p := t.byID[s.parent]
			if p == nil || p == s || s.parent == "" || !yield(p) {
				return
			}
			s = p
		}
	}
}

// nested reports whether a call is of an agent that another agent or a tool called.
func (t *trace) nested(s *sourceSpan) bool {
	agent := false
	for p := range t.above(s) {
		if p.kind == kindTool || agent && p.kind == kindAgent {
			return true
		}
		agent = agent || p.kind == kindAgent
	}
	return false
}

// within returns the innermost span of a kind that a span is in.
func (t *trace) within(s *sourceSpan, kind string) *sourceSpan {
	for p := range t.above(s) {
		if p.kind == kind {
			return p
		}
	}
	return nil
}
