package sts

import (
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readClaude reads a session of Claude Code. Its lines form a tree by uuid and
// parentUuid; an answer of the model has a line for each block of its content,
// with the answer's id. Sidechains are subagents. They come first, so that the
// session's own messages are the main path; a file of a subagent has nothing
// else.
func readClaude(s *session, lines []*line) {
	c := claude{session: s, answers: map[string]int{}, tails: map[int]int{}, constant: map[string]string{}}
	var main, side []*line
	for _, l := range lines {
		if jsontext.IsTrue(l.Get("isSidechain")) {
			side = append(side, l)
		} else {
			main = append(main, l)
		}
	}
	alone := true // nothing but a subagent
	for _, l := range main {
		alone = alone && !l.Has("message")
		if c.model == "" {
			c.model = modelOf(l)
		}
	}
	c.session.found.Row.TrajectoryID = sessionID(main, side, alone)
	c.sidechain = !alone
	c.lines(side)
	c.sidechain = false
	delete(c.parents, -1) // the session is no branch of its subagents
	c.lines(main)
}

func (c *claude) lines(lines []*line) {
	defer c.flush()
	for _, l := range lines {
		l.read(c.line)
	}
}

// sessionID returns the id of the session that the file belongs to: a session
// that continues another begins with its lines.
func sessionID(main, side []*line, alone bool) string {
	lines := main
	if alone {
		lines = side
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if id := jsontext.Unquote(lines[i].Get("sessionId")); id != "" && lines[i].Has("message") {
			if agent := jsontext.Unquote(lines[i].Get("agentId")); alone && agent != "" {
				id += "/" + agent // all subagents of a session have its id
			}
			return id
		}
	}
	return ""
}

// synthetic is the model of messages that Claude Code itself puts in the place
// of an answer, such as an error of the API.
const synthetic = "<synthetic>"

func modelOf(l *line) string {
	model := jsontext.Unquote(jsontext.ParseObject(l.Get("message")).Get("model"))
	if model == synthetic {
		return ""
	}
	return model
}

type claude struct {
	*session
	sidechain bool
	answers   map[string]int    // message by the id of the answer
	tails     map[int]int       // the last result of the tool calls of a message
	constant  map[string]string // members of lines that are the same on all of them

	open   int // the answer that the next line may continue; with blocks
	blocks value.Content
}

func (c *claude) line(l *line) {
	kind, id := l.kind(), must.Text("uuid", l.Get("uuid"))
	parent, known := c.nodes[must.Text("parentUuid", l.Get("parentUuid"))]
	if !known {
		parent = -1
	} else if tail, ok := c.tails[parent]; ok {
		parent = tail
	}
	c.time(l.Get("timestamp"))
	at := parent
	switch {
	case kind == "assistant" && l.Has("message"):
		at = c.assistant(l, parent)
	case kind == "user" && l.Has("message") && c.clears(l, parent):
		c.flush()
		c.branch, at = importers.BranchHistory, -1
		c.other(l)
	case kind == "user" && l.Has("message"):
		at = c.user(l, parent)
	default:
		if kind == "system" && jsontext.Unquote(l.Get("subtype")) == "compact_boundary" {
			c.flush()
			c.branch, at = importers.BranchHistory, -1
		}
		c.other(l)
	}
	if id != "" {
		c.nodes[id] = at
	}
}

// clears reports whether a line is a command after which the model sees nothing of what
// was before, or the output of such a command.
func (c *claude) clears(l *line, parent int) bool {
	text := strings.TrimSpace(jsontext.Unquote(jsontext.ParseObject(l.Get("message")).Get("content")))
	for _, command := range []string{"/clear", "/reset", "/new"} {
		if strings.HasPrefix(text, "<command-name>"+command+"</command-name>") ||
			strings.HasPrefix(text, "<command-message>") && strings.Contains(text, "<command-name>"+command+"</command-name>") {
			return true
		}
	}
	return parent < 0 && c.branch == importers.BranchHistory && strings.HasPrefix(text, "<local-command-stdout>")
}

// begin names the branch of a message that is a root.
func (c *claude) begin(parent int) {
	if parent < 0 && c.branch == "" && c.sidechain {
		c.branch = importers.BranchSubagent
	}
}

func (c *claude) assistant(l *line, parent int) int {
	o := must.Object("message", l.Get("message"))
	id := must.ID("message.id", o.Get("id"))
	model := must.Text("message.model", o.Get("model"))
	at, again := c.answers[id]
	if !again || id == "" {
		c.flush()
		c.begin(parent)
		m := formats.Message{Role: "assistant"}
		if model == synthetic {
			at = c.input(m, parent)
		} else {
			at = c.sampled(m, formats.Call{Model: model, Target: !c.sidechain || model == c.model}, parent)
		}
		c.open, c.blocks = at, value.Content{}
		if id != "" {
			c.answers[id] = at
		}
		if jsontext.IsTrue(l.Get("isApiErrorMessage")) && !c.sidechain {
			c.failure = outcomes.FailEngine
		}
	} else if at != c.open {
		must.Fail("message.id %q is that of an earlier answer, but others came between", id)
	}
	m := &c.Messages[at]
	c.blocks.Message = m
	c.blocks.Blocks(o.Get("content"), nil)
	if stop := must.Text("message.stop_reason", o.Get("stop_reason")); stop != "" && m.Sampled {
		m.FinishReason = stop
	}
	if u := must.Object("message.usage", o.Get("usage")); u != nil && m.Sampled {
		c.count(&c.Calls[m.Call], u)
		c.Meta.Keep(at, "usage", o.Get("usage"))
	}
	c.Meta.KeepRest(at, o, "role", "content", "model", "stop_reason", "usage", "type")
	c.envelope(at, l)
	c.blocks.Set()
	if len(c.blocks.Reasoning) > 0 {
		c.Meta.Keep(at, "thinking", value.Join(c.blocks.Reasoning))
	}
	if c.failure != "" {
		c.reason = m.Content
	}
	return at
}

func (c *claude) count(call *formats.Call, u jsontext.Object) {
	call.CachedTokens = must.Count("usage.cache_read_input_tokens", u.Get("cache_read_input_tokens"))
	call.PromptTokens = must.Count("usage.input_tokens", u.Get("input_tokens")) + call.CachedTokens +
		must.Count("usage.cache_creation_input_tokens", u.Get("cache_creation_input_tokens"))
	call.CompletionTokens = must.Count("usage.output_tokens", u.Get("output_tokens"))
}

// flush ends the open answer.
func (c *claude) flush() { c.open = -1 }

// user adds the results of tools that a line has, and what the user said.
func (c *claude) user(l *line, parent int) int {
	c.flush()
	m := formats.Message{Role: "user"}
	said := value.Content{Message: &m}
	at, owner := parent, c.owner(parent)
	said.Blocks(must.Object("message", l.Get("message")).Get("content"), func(o jsontext.Object) {
		at = c.result(o, at)
		if owner >= 0 {
			c.tails[owner] = at
		}
	})
	if len(said.Parts) > 0 || at == parent {
		said.Set()
		c.begin(at)
		at = c.input(m, at)
	}
	c.envelope(at, l)
	return at
}

// owner returns the answer whose tool calls the results after a message answer; -1 for none.
func (c *claude) owner(at int) int {
	for at >= 0 && c.Messages[at].Role == "tool" {
		at = int(c.Messages[at].Parent)
	}
	if at >= 0 && len(c.Messages[at].ToolCalls) > 0 {
		return at
	}
	return -1
}

func (c *claude) result(o jsontext.Object, parent int) int {
	m := formats.Message{Role: "tool", ToolCallID: must.Text("tool_use_id", o.Get("tool_use_id"))}
	text := value.Content{Message: &m}
	text.Blocks(o.Get("content"), nil)
	m.ToolCalls = nil
	text.Set()
	c.begin(parent)
	at := c.input(m, parent)
	if !o.Has("is_error") { // the API's default
		o.Set("is_error", []byte("false"))
	}
	c.Meta.KeepRest(at, o, "type", "tool_use_id", "content")
	return at
}

// envelope keeps the members of a line. One that has the same value as before is kept once.
func (c *claude) envelope(at int, l *line) {
	for f := range value.Rest(l.Object, "type", "message", "parentUuid", "isSidechain", "timestamp") {
		switch f.Key {
		case "sessionId", "cwd", "version", "gitBranch", "userType", "entrypoint", "slug", "agentId":
			if first, ok := c.constant[f.Key]; !ok {
				c.constant[f.Key] = string(f.Raw)
				c.Meta.Add(f.Key, f.Raw)
				continue
			} else if first == string(f.Raw) {
				continue
			}
		case "isMeta", "isApiErrorMessage":
			if !jsontext.IsTrue(f.Raw) {
				continue
			}
		}
		c.Meta.Keep(at, f.Key, f.Raw)
	}
}
