package sts

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readCodex reads a rollout of Codex: items of the Responses API as the model
// saw them (response_item), among events for the display (event_msg). The items
// of the model that follow each other are one answer.
func readCodex(s *session, lines []*line) {
	c := codex{session: s}
	for _, l := range lines {
		s.time(l.Get("timestamp"))
		l.read(c.line)
	}
	c.flush(nil)
}

type codex struct {
	*session
	begun    bool
	model    string
	sampling string
	at       int // 1 + the message that the next one continues; 0 at a root

	open  bool // an answer is being read
	m     formats.Message
	parts value.Content
}

func (c *codex) line(l *line) {
	kind, p := l.kind(), l.Get("payload")
	payload := must.Object("payload", p)
	switch {
	case !c.begun && (kind == "session_meta" || kind == ""):
		c.begun = true
		if payload == nil {
			payload, p = l.Object, l.raw // sessions of 2025 have no envelope
		}
		c.header(payload, p)
	case kind == "turn_context":
		c.flush(nil)
		if model := must.Text("model", payload.Get("model")); model != "" {
			c.model = model
		}
		if c.sampling = ""; payload.Has("effort") {
			c.sampling = string(jsontext.Object{{Key: "reasoning_effort", Raw: payload.Get("effort")}}.Bytes())
		}
		c.other(l)
	case kind == "response_item":
		c.item(payload, p)
	case kind == "compacted":
		c.compacted(payload)
	case kind == "event_msg":
		c.event(l, payload)
	case payload == nil && (l.Has("role") || l.Has("call_id") || kind == "reasoning"):
		c.item(l.Object, l.raw)
	default:
		c.other(l)
	}
}

func (c *codex) header(o jsontext.Object, raw []byte) {
	c.found.Row.TrajectoryID = must.Text("id", o.Get("id"))
	if base := must.Object("base_instructions", o.Get("base_instructions")); base.Has("text") {
		c.add(formats.Message{Role: "system", Content: must.Text("base_instructions.text", base.Get("text"))})
		rest := append(jsontext.Object(nil), o...)
		rest.Drop("base_instructions")
		raw = rest.Bytes()
	}
	c.Meta.Add("session_meta", raw)
}

// add adds a message that the model did not generate.
func (c *codex) add(m formats.Message) int {
	at := c.input(m, c.at-1)
	c.at = at + 1
	return at
}

// item adds an item of the Responses API.
func (c *codex) item(o jsontext.Object, raw []byte) {
	if value.Generated(o) {
		if !c.open {
			c.open, c.m = true, formats.Message{Role: "assistant"}
			c.parts = value.Content{Message: &c.m}
		}
		c.parts.Item(o, raw)
		return
	}
	c.flush(nil)
	m, rest := value.InputItem(o)
	at := c.add(m)
	if len(rest) > 0 {
		c.Meta.Keep(at, "output", rest.Bytes())
	}
}

// flush adds the answer that is open, with its usage.
func (c *codex) flush(usage func(call *formats.Call)) {
	if c.open {
		c.open = false
		c.parts.Set()
		at := c.sampled(c.m, formats.Call{Model: c.model, Sampling: c.sampling, Target: true}, c.at-1)
		c.at = at + 1
		if len(c.parts.Reasoning) > 0 {
			c.Meta.Keep(at, "reasoning", value.Join(c.parts.Reasoning))
		}
	} else if usage == nil {
		return
	}
	if n := len(c.Calls); usage != nil && n > 0 && c.Calls[n-1].PromptTokens == 0 {
		usage(&c.Calls[n-1])
	}
}

// compacted begins another root with what the model saw from then on.
func (c *codex) compacted(o jsontext.Object) {
	c.flush(nil)
	c.branch, c.at = importers.BranchHistory, 0
	if !o.Has("replacement_history") {
		c.add(formats.Message{Role: "user", Content: must.Text("message", o.Get("message"))})
		return
	}
	for raw := range jsontext.Elements(must.List("replacement_history", o.Get("replacement_history"))) {
		item := must.Object("replacement_history", raw)
		c.item(item, raw)
		if c.open { // of an earlier answer: input from now on
			c.open = false
			c.parts.Set()
			c.add(c.m)
		}
	}
}

// event reads an event for the display.
func (c *codex) event(l *line, o jsontext.Object) {
	switch kind := must.Text("type", o.Get("type")); kind {
	case "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
		"agent_reasoning_section_break":
		return // the items say the same
	case "token_count":
		u := jsontext.ParseObject(jsontext.ParseObject(o.Get("info")).Get("last_token_usage"))
		if u == nil {
			return
		}
		c.flush(func(call *formats.Call) {
			call.PromptTokens = must.Count("input_tokens", u.Get("input_tokens"))
			call.CachedTokens = must.Count("cached_input_tokens", u.Get("cached_input_tokens"))
			call.CompletionTokens = must.Count("output_tokens", u.Get("output_tokens"))
		})
		return
	case "turn_aborted":
		c.flush(nil)
		c.failure, c.reason = outcomes.FailCancelled, must.Text("reason", o.Get("reason"))
	case "error", "stream_error":
		c.flush(nil)
		c.failure, c.reason = outcomes.FailEngine, must.Text("message", o.Get("message"))
	case "thread_rolled_back":
		c.record.Lose("event_msg.thread_rolled_back", "the turns that it took back stay on the path")
	}
	c.other(l)
}
