package sts

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readPi reads Pi's session format (earendil-works/pi:
// packages/coding-agent/docs/session-format.md) and the Session Trace Simple
// Format, which has the same envelope. Pi's entries form a tree; without ids
// each line follows the one before.
func readPi(s *session, lines []*line) {
	p := pi{session: s, entries: map[string]*line{}}
	for _, l := range lines {
		s.time(l.Get("timestamp"))
		l.read(p.entry)
	}
}

type pi struct {
	*session
	begun   bool // the header was read
	model   string
	level   []byte // the level of thinking
	entries map[string]*line
}

func (p *pi) entry(l *line) {
	id := must.ID("id", l.Get("id"))
	parent := len(p.Messages) - 1
	if l.Has("parentId") {
		at, known := p.nodes[must.ID("parentId", l.Get("parentId"))]
		if !known {
			must.Fail("parentId is %s, which is no entry before it", importers.Brief(l.Get("parentId")))
		}
		parent = at
	} else if len(l.Get("parentId")) > 0 {
		parent = -1
	}
	at := parent
	switch kind := l.kind(); {
	case kind == "session" && !p.begun:
		p.begun = true
		p.header(l)
		return
	case kind == "message":
		at = p.message(must.Object("message", l.Get("message")), parent)
	case kind == "custom_message":
		o := append(jsontext.Object{{Key: "role", Raw: []byte(`"custom"`)}}, l.Object...)
		at = p.message(o, parent)
	case kind == "branch_summary":
		at = p.input(formats.Message{Role: "user", Content: must.Text("summary", l.Get("summary"))}, parent)
		p.Meta.Keep(at, "branch_summary", l.raw)
	case kind == "compaction":
		at = p.compaction(l, parent)
	default:
		switch kind {
		case "model_change":
			p.model = must.Text("modelId", l.Get("modelId"))
		case "thinking_level_change":
			p.level = l.Get("thinkingLevel")
		}
		p.other(l)
	}
	if id != "" {
		p.nodes[id], p.entries[id] = at, l
	}
}

// message adds a message; at is parent when the model does not see it.
func (p *pi) message(o jsontext.Object, parent int) (at int) {
	m := formats.Message{Role: must.Text("role", o.Get("role"))}
	c := value.Content{Message: &m}
	c.Think(must.Text("reasoningContent", o.Get("reasoningContent")))
	c.Blocks(o.Get("content"), nil)
	for call := range jsontext.Elements(must.List("toolCalls", o.Get("toolCalls"))) {
		m.ToolCalls = append(m.ToolCalls, chat.ReadToolCall(call, jsontext.AnyText))
	}
	m.ToolCallID = must.Text("toolCallId", o.Get("toolCallId"))
	c.Set()
	p.time(o.Get("timestamp"))
	switch m.Role {
	case "assistant":
		at = p.answer(o, m, parent)
	case "toolResult":
		m.Role, m.Name = "tool", must.Text("toolName", o.Get("toolName"))
		at = p.input(m, parent)
	case "bashExecution":
		if jsontext.IsTrue(o.Get("excludeFromContext")) {
			p.others = append(p.others, o.Bytes())
			return parent
		}
		m.Role = "user"
		m.Content = "Ran `" + must.Text("command", o.Get("command")) + "`\n```\n" + must.Text("output", o.Get("output")) + "\n```"
		at = p.input(m, parent)
		p.Meta.Keep(at, "source_message", o.Bytes())
		return at
	case "custom", "hookMessage":
		m.Role = "user"
		at = p.input(m, parent)
	case "branchSummary", "compactionSummary":
		m.Role, m.Content = "user", must.Text("summary", o.Get("summary"))
		at = p.input(m, parent)
	default:
		if !slices.Contains(importers.Roles, m.Role) {
			must.Fail("role %q is not known", m.Role)
		}
		at = p.input(m, parent)
	}
	p.Meta.KeepRest(at, o, "role", "content", "reasoningContent", "toolCalls", "toolCallId", "toolName", "model", "stopReason",
		"timestamp", "parentId", "type", "id")
	if len(c.Reasoning) > 0 {
		p.Meta.Keep(at, "thinking", value.Join(c.Reasoning))
	}
	return at
}

func (p *pi) answer(o jsontext.Object, m formats.Message, parent int) int {
	stop := must.Text("stopReason", o.Get("stopReason"))
	if m.FinishReason = stop; stop == "toolUse" {
		m.FinishReason = "tool_use"
	}
	call := formats.Call{Target: true, Model: cmp.Or(must.Text("model", o.Get("model")), p.model)}
	if len(p.level) > 0 {
		call.Sampling = string(jsontext.Object{{Key: "thinking_level", Raw: p.level}}.Bytes())
	}
	u := must.Object("usage", o.Get("usage"))
	call.CachedTokens = must.Count("usage.cacheRead", u.Get("cacheRead"))
	call.PromptTokens = must.Count("usage.input", u.Get("input")) + call.CachedTokens +
		must.Count("usage.cacheWrite", u.Get("cacheWrite"))
	call.CompletionTokens = must.Count("usage.output", u.Get("output"))
	at := p.sampled(m, call, parent)
	switch stop {
	case "error":
		p.failure, p.reason = outcomes.FailEngine, must.Text("errorMessage", o.Get("errorMessage"))
	case "aborted":
		p.failure, p.reason = outcomes.FailCancelled, must.Text("errorMessage", o.Get("errorMessage"))
	}
	return at
}

// compaction begins another root with the summary and the messages that were kept.
func (p *pi) compaction(l *line, parent int) int {
	p.branch = importers.BranchHistory
	at := p.input(formats.Message{Role: "user", Content: must.Text("summary", l.Get("summary"))}, -1)
	p.Meta.KeepRest(at, l.Object, "type", "id", "parentId", "summary", "retainedTail")
	if l.Has("retainedTail") {
		for raw := range jsontext.Elements(must.List("retainedTail", l.Get("retainedTail"))) {
			at = p.kept(must.Object("retainedTail", raw), at)
		}
		return at
	}
	first, known := p.nodes[must.ID("firstKeptEntryId", l.Get("firstKeptEntryId"))]
	if !known || first < 0 {
		return at
	}
	copied := false
	before := formats.Trajectory{Messages: p.Messages}
	for _, i := range before.Path(parent) {
		if copied = copied || i == first; copied {
			m := before.Messages[i] // as input
			m.FinishReason, m.Branch = "", ""
			at = p.input(m, at)
		}
	}
	return at
}

// kept adds a message that was sampled before, as input.
func (p *pi) kept(o jsontext.Object, parent int) int {
	if jsontext.Unquote(o.Get("role")) != "assistant" {
		return p.message(o, parent)
	}
	m := formats.Message{Role: "assistant"}
	c := value.Content{Message: &m}
	c.Blocks(o.Get("content"), nil)
	c.Set()
	return p.input(m, parent)
}

// header reads the first line of a session. Of a session that was exported by
// us, further members are columns.
func (p *pi) header(l *line) {
	row := &p.found.Row
	row.TrajectoryID = must.ID("id", l.Get("id"))
	ours := must.Text("harness", l.Get("harness")) == "rollmill"
	for _, f := range l.Object {
		if f.Key == "type" || f.Key == "id" || len(f.Raw) == 0 || string(f.Raw) == "null" {
			continue
		}
		if !ours || !p.column(f.Key, f.Raw) {
			p.Meta.Add(f.Key, f.Raw)
		}
	}
}

// column reads a member that our export writes, and reports whether it is one.
func (p *pi) column(key string, v []byte) bool {
	row := &p.found.Row
	switch key {
	case "harness", "run", "group_id": // run and groups are assigned again
	case "name", "example_id":
		row.ExampleID = must.Text(key, v)
	case "epoch":
		p.found.Epoch = must.Int32(key, v)
	case "generation":
		p.found.Attempt = must.Whole(key, v)
	case "model":
		p.model = must.Text(key, v)
	case "status":
		row.Status = known(key, v, outcomes.Statuses)
	case "stop_reason":
		row.StopReason = known(key, v, outcomes.StopReasons)
	case "error":
		row.Error = must.Text(key, v)
	case "reward":
		row.Reward = must.Number(key, v)
	case "rewards":
		p.rewards(v)
	case "tools":
		p.Offer(value.Tools(v))
	case "example":
		must.Object(key, v)
		row.Example = jsontext.Compact(v)
	case "metadata":
		for _, f := range must.Object(key, v) {
			p.Meta.Add(f.Key, f.Raw)
		}
	default:
		return false
	}
	return true
}

func known(key string, v []byte, list []string) string {
	text := must.Text(key, v)
	if text != "" && !slices.Contains(list, text) {
		must.Fail("unknown %s %q; use one of %v", key, text, list)
	}
	return text
}

// rewards reads the components of a reward, numbers by name.
func (p *pi) rewards(v []byte) {
	for _, c := range must.Object("rewards", v) {
		r := formats.NamedReward{Name: c.Key, Value: must.Number("rewards."+c.Key, c.Raw)}
		if r.Value == nil {
			r.Failure = outcomes.RewardMissing
		}
		p.found.Row.Rewards = append(p.found.Row.Rewards, r)
	}
}
