package sts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readPi reads Pi's session format (earendil-works/pi:
// packages/coding-agent/docs/session-format.md) and the Session Trace Simple
// Format, which has the same envelope. Pi's entries form a tree; without ids
// each line follows the one before.
func readPi(s *session, lines []line) error {
	p := pi{session: s, entries: map[string]*line{}}
	for i := range lines {
		l := &lines[i]
		s.time(l.Get("timestamp"))
		if err := p.entry(l); err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	return nil
}

type pi struct {
	*session
	begun   bool // the header was read
	model   string
	level   []byte // the level of thinking
	entries map[string]*line
}

func (p *pi) entry(l *line) error {
	var in value.Reader
	id := in.ID("id", l.Get("id"))
	if in.Err != nil {
		return in.Err
	}
	parent := len(p.conversation.Messages) - 1
	if l.Has("parentId") {
		at, known := p.nodes[in.ID("parentId", l.Get("parentId"))]
		if in.Err == nil && !known {
			return fmt.Errorf("parentId is %s, which is no entry before it", importers.Brief(l.Get("parentId")))
		}
		parent = at
	} else if len(l.Get("parentId")) > 0 {
		parent = -1
	}
	at, err := parent, in.Err
	switch kind := l.kind(); {
	case err != nil:
	case kind == "session" && !p.begun:
		p.begun = true
		return p.header(l)
	case kind == "message":
		at, err = p.message(in.Object("message", l.Get("message")), parent)
	case kind == "custom_message":
		o := append(jsontext.Object{{Key: "role", Raw: []byte(`"custom"`)}}, l.Object...)
		at, err = p.message(o, parent)
	case kind == "branch_summary":
		at = p.input(formats.Message{Role: "user", Content: in.Text("summary", l.Get("summary"))}, parent)
		p.meta.Keep(at, "branch_summary", l.raw)
	case kind == "compaction":
		at, err = p.compaction(l, parent)
	default:
		switch kind {
		case "model_change":
			p.model = in.Text("modelId", l.Get("modelId"))
		case "thinking_level_change":
			p.level = l.Get("thinkingLevel")
		}
		p.other(l)
	}
	if id != "" {
		p.nodes[id], p.entries[id] = at, l
	}
	return cmp.Or(err, in.Err)
}

// message adds a message; at is parent when the model does not see it.
func (p *pi) message(o jsontext.Object, parent int) (at int, err error) {
	var in value.Reader
	m := formats.Message{Role: in.Text("role", o.Get("role"))}
	c := value.Content{Message: &m}
	c.Think(in.Text("reasoningContent", o.Get("reasoningContent")))
	p.content(&in, &c, o.Get("content"))
	for call := range jsontext.Elements(in.List("toolCalls", o.Get("toolCalls"))) {
		m.ToolCalls = append(m.ToolCalls, chat.ReadToolCall(call, jsontext.AnyText))
	}
	m.ToolCallID = in.Text("toolCallId", o.Get("toolCallId"))
	c.Set()
	p.time(o.Get("timestamp"))
	if in.Err != nil {
		return parent, in.Err
	}
	switch m.Role {
	case "assistant":
		at, err = p.answer(o, m, parent)
	case "toolResult":
		m.Role, m.Name = "tool", in.Text("toolName", o.Get("toolName"))
		at = p.input(m, parent)
	case "bashExecution":
		if jsontext.IsTrue(o.Get("excludeFromContext")) {
			p.others = append(p.others, o.Bytes())
			return parent, nil
		}
		m.Role = "user"
		m.Content = "Ran `" + in.Text("command", o.Get("command")) + "`\n```\n" + in.Text("output", o.Get("output")) + "\n```"
		at = p.input(m, parent)
		p.meta.Keep(at, "source_message", o.Bytes())
		return at, in.Err
	case "custom", "hookMessage":
		m.Role = "user"
		at = p.input(m, parent)
	case "branchSummary", "compactionSummary":
		m.Role, m.Content = "user", in.Text("summary", o.Get("summary"))
		at = p.input(m, parent)
	default:
		if !slices.Contains(importers.Roles, m.Role) {
			return parent, fmt.Errorf("role %q is not known", m.Role)
		}
		at = p.input(m, parent)
	}
	p.rest(at, o, "role", "content", "reasoningContent", "toolCalls", "toolCallId", "toolName", "model", "stopReason",
		"timestamp", "parentId", "type", "id")
	if len(c.Reasoning) > 0 {
		p.meta.Keep(at, "thinking", value.Join(c.Reasoning))
	}
	return at, cmp.Or(err, in.Err)
}

func (p *pi) content(in *value.Reader, c *value.Content, v []byte) {
	for o, part := range c.Read(in, v) {
		switch in.Text("content.type", o.Get("type")) {
		case "thinking":
			c.Think(in.Text("thinking", o.Get("thinking")))
			o.Drop("thinking")
			if len(o) > 1 {
				c.Reasoning = append(c.Reasoning, o.Bytes())
			}
		case "toolCall":
			c.Message.ToolCalls = append(c.Message.ToolCalls,
				formats.ToolCall{ID: in.ID("toolCall.id", o.Get("id")), Name: in.Text("toolCall.name", o.Get("name")),
					Arguments: jsontext.AnyText(o.Get("arguments"))})
		default:
			c.Parts = append(c.Parts, part)
		}
	}
}

func (p *pi) answer(o jsontext.Object, m formats.Message, parent int) (int, error) {
	var in value.Reader
	stop := in.Text("stopReason", o.Get("stopReason"))
	if m.FinishReason = stop; stop == "toolUse" {
		m.FinishReason = "tool_use"
	}
	call := formats.Call{Target: true, Model: cmp.Or(in.Text("model", o.Get("model")), p.model)}
	if len(p.level) > 0 {
		call.Sampling = string(jsontext.Object{{Key: "thinking_level", Raw: p.level}}.Bytes())
	}
	u := in.Object("usage", o.Get("usage"))
	call.CachedTokens = in.Count("usage.cacheRead", u.Get("cacheRead"))
	call.PromptTokens = in.Count("usage.input", u.Get("input")) + call.CachedTokens +
		in.Count("usage.cacheWrite", u.Get("cacheWrite"))
	call.CompletionTokens = in.Count("usage.output", u.Get("output"))
	if in.Err != nil {
		return parent, in.Err
	}
	at := p.sampled(m, call, parent)
	switch stop {
	case "error":
		p.failure, p.reason = outcomes.FailEngine, in.Text("errorMessage", o.Get("errorMessage"))
	case "aborted":
		p.failure, p.reason = outcomes.FailCancelled, in.Text("errorMessage", o.Get("errorMessage"))
	}
	return at, in.Err
}

// compaction begins another root with the summary and the messages that were
// kept.
func (p *pi) compaction(l *line, parent int) (int, error) {
	var in value.Reader
	p.branch = importers.BranchHistory
	at := p.input(formats.Message{Role: "user", Content: in.Text("summary", l.Get("summary"))}, -1)
	p.rest(at, l.Object, "type", "id", "parentId", "summary", "retainedTail")
	if l.Has("retainedTail") {
		for raw := range jsontext.Elements(in.List("retainedTail", l.Get("retainedTail"))) {
			var err error
			if at, err = p.kept(in.Object("retainedTail", raw), at); err != nil {
				return at, err
			}
		}
		return at, in.Err
	}
	first, known := p.nodes[in.ID("firstKeptEntryId", l.Get("firstKeptEntryId"))]
	if !known || first < 0 {
		return at, in.Err
	}
	copied := false
	before := formats.Trajectory{Messages: p.conversation.Messages}
	for _, i := range before.Path(parent) {
		if copied = copied || i == first; copied {
			m := before.Messages[i] // as input
			m.FinishReason, m.Branch = "", ""
			at = p.input(m, at)
		}
	}
	return at, in.Err
}

// kept adds a message that was sampled before, as input.
func (p *pi) kept(o jsontext.Object, parent int) (int, error) {
	if jsontext.Unquote(o.Get("role")) != "assistant" {
		return p.message(o, parent)
	}
	var in value.Reader
	m := formats.Message{Role: "assistant"}
	c := value.Content{Message: &m}
	p.content(&in, &c, o.Get("content"))
	c.Set()
	return p.input(m, parent), in.Err
}
