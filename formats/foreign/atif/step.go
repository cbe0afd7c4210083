package atif

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// run is the conversation of one agent.
type run struct {
	*builder
	model   string
	branch  string // of the next message
	trained bool
}

func (r *run) input(m formats.Message) int {
	m.Branch, r.branch = r.branch, ""
	return r.Input(m)
}

// systemPrompt adds the system prompt that some exporters keep with the agent.
func (r *run) systemPrompt(extra jsontext.Object, steps []byte) {
	text := jsontext.Unquote(extra.Get("system_prompt"))
	for first := range jsontext.Elements(steps) {
		if source := jsontext.Unquote(jsontext.ParseObject(first).Get("source")); text != "" && source != "system" {
			r.input(formats.Message{Role: "system", Content: text})
		}
		return
	}
}

var roles = map[string]string{"system": "system", "user": "user", "agent": "assistant"}

func (r *run) step(raw []byte) {
	o := jsontext.ParseObject(raw)
	if o == nil {
		must.Fail("it is %s, not an object", importers.Brief(raw))
	}
	source := must.Text("source", o.Get("source"))
	role, known := roles[source]
	if !known {
		must.Fail("unknown source %q; use system, user or agent", source)
	}
	m := formats.Message{Role: role, Reasoning: must.Text("reasoning_content", o.Get("reasoning_content"))}
	content("message", o.Get("message"), &m)
	results := must.List("observation.results", must.Object("observation", o.Get("observation")).Get("results"))
	r.Times.Add(value.Micros(o.Get("timestamp")))
	replaces := string(must.Object("extra", o.Get("extra")).Get("context_management"))
	if source == "system" && jsontext.Unquote(jsontext.ParseObject([]byte(replaces)).Get("boundary")) == "replace" {
		r.replaceContext(o, m, results)
		return
	}
	r.rest(r.message(o, m, source == "agent"), o)
	r.results(results)
}

// message adds a step's message, sampled when the model generated it in this trajectory.
func (r *run) message(o jsontext.Object, m formats.Message, agent bool) int {
	extras := jsontext.Object(nil)
	for call := range jsontext.Elements(must.List("tool_calls", o.Get("tool_calls"))) {
		c := must.Object("tool_calls", call)
		t := formats.ToolCall{
			ID: must.Text("tool_call_id", c.Get("tool_call_id")), Name: must.Text("function_name", c.Get("function_name")),
			Arguments: jsontext.AnyText(c.Get("arguments")),
		}
		if t.Name == "" {
			must.Fail("a tool call has no function_name: %s", importers.Brief(call))
		}
		m.ToolCalls = append(m.ToolCalls, t)
		if c.Has("extra") {
			extras = append(extras, jsontext.Member{Key: t.ID, Raw: c.Get("extra")})
		}
	}
	calls := must.Whole("llm_call_count", o.Get("llm_call_count"))
	metrics := must.Object("metrics", o.Get("metrics"))
	copied := jsontext.IsTrue(o.Get("is_copied_context"))
	if !agent || copied || calls != nil && *calls == 0 {
		at := r.input(m)
		r.keep(at, "metrics", metrics)
		r.keep(at, "tool_call_extras", extras)
		return at
	}
	at := r.sampled(o, m, metrics, calls != nil && *calls > 1)
	r.keep(at, "tool_call_extras", extras)
	return at
}

// sampled adds an answer of the model. several reports whether it is made of
// several answers: then its tokens are of no one call.
func (r *run) sampled(o jsontext.Object, m formats.Message, metrics jsontext.Object, several bool) int {
	call := formats.Call{Model: cmp.Or(must.Text("model_name", o.Get("model_name")), r.model), Target: r.trained,
		PromptTokens:     must.Count("prompt_tokens", metrics.Get("prompt_tokens")),
		CompletionTokens: must.Count("completion_tokens", metrics.Get("completion_tokens")),
		CachedTokens:     must.Count("cached_tokens", metrics.Get("cached_tokens"))}
	if o.Has("reasoning_effort") {
		call.Sampling = string(jsontext.Object{{Key: "reasoning_effort", Raw: o.Get("reasoning_effort")}}.Bytes())
	}
	if r.own {
		ownCall(r.record, o, &m, &call)
	}
	if !several {
		m.TokenIDs = must.IDs("completion_token_ids", metrics.Get("completion_token_ids"))
		m.Logprobs = must.Logprobs("logprobs", metrics.Get("logprobs"))
		prompt := must.IDs("prompt_token_ids", metrics.Get("prompt_token_ids"))
		m.PromptDeltaIDs, m.PrefixBreak = r.PromptDelta(prompt)
		metrics.Drop("completion_token_ids", "logprobs", "prompt_token_ids")
		if len(m.TokenIDs) > 0 {
			r.Source = "metrics.completion_token_ids"
		}
	}
	metrics.Drop("prompt_tokens", "completion_tokens", "cached_tokens")
	m.Branch, r.branch = r.branch, ""
	at := r.Sampled(m, call)
	r.keep(at, "metrics", metrics)
	return at
}

// replaceContext begins another root with what a step observed: the model saw
// nothing of what came before.
func (r *run) replaceContext(o jsontext.Object, m formats.Message, results []byte) {
	r.Continue(-1)
	first := len(r.Messages)
	if first > 0 {
		r.branch = importers.BranchHistory
	}
	r.results(results)
	if len(r.Messages) == first {
		r.input(m)
	} else {
		r.Meta.Keep(first, "step_message", o.Get("message"))
	}
	r.rest(first, o)
}

func (r *run) results(list []byte) {
	for raw := range jsontext.Elements(list) {
		o := must.Object("observation.results", raw)
		m := formats.Message{Role: "user", ToolCallID: must.Text("source_call_id", o.Get("source_call_id"))}
		if m.ToolCallID != "" {
			m.Role = "tool"
		}
		content("content", o.Get("content"), &m)
		at := r.input(m)
		r.Meta.KeepRest(at, o, "source_call_id", "content")
	}
}

// rest keeps the members of a step that no column has.
func (r *run) rest(at int, o jsontext.Object) {
	r.Meta.KeepRest(at, o, "step_id", "source", "message", "reasoning_content", "tool_calls", "observation",
		"metrics", "model_name", "reasoning_effort")
}

func (r *run) keep(at int, name string, o jsontext.Object) {
	if len(o) > 0 {
		r.Meta.Keep(at, name, o.Bytes())
	}
}

// content reads a text, or parts of text and images.
func content(field string, v []byte, m *formats.Message) {
	if len(v) == 0 || v[0] != '[' {
		m.Content = must.Text(field, v)
		return
	}
	var text strings.Builder
	parts, images := 0, false
	for part := range jsontext.Elements(v) {
		o := must.Object(field, part)
		text.WriteString(must.Text(field+".text", o.Get("text")))
		parts++
		images = images || jsontext.Unquote(o.Get("type")) != "text"
	}
	m.Content = text.String()
	if parts > 1 || images {
		m.ContentParts = jsontext.Compact(v)
	}
}

// builder builds the messages of a document and of its subagents.
type builder struct {
	importers.Draft
	record *importers.Record
	own    bool   // Rollmill wrote it
	model  string // the root agent's: subagents of other models do not train
}

// trajectory adds the messages of a document and returns the index of its first;
// -1 when it has none. Its subagents come first, so that the document's own
// messages are the main path.
func (b *builder) trajectory(o jsontext.Object, branch string) (first int) {
	agent := must.Object("agent", o.Get("agent"))
	model := must.Text("agent.model_name", agent.Get("model_name"))
	extra := must.Object("agent.extra", agent.Get("extra"))
	steps := must.List("steps", o.Get("steps"))
	subagents := must.List("subagent_trajectories", o.Get("subagent_trajectories"))
	if branch == "" {
		b.model = model
	}
	tools := toolsOf(agent, extra)
	must.Each("subagent_trajectories", subagents, b.subagent)
	b.Offer(tools)
	b.Continue(-1)
	first = len(b.Messages)
	run := run{builder: b, model: model, branch: branch, trained: branch == "" || model == b.model}
	run.systemPrompt(extra, steps)
	must.Each("steps", steps, run.step)
	if first == len(b.Messages) {
		return -1
	}
	return first
}

// continuation adds a document that goes on from those before it: another root, which may begin with copies.
func (b *builder) continuation(o jsontext.Object) {
	versionOf(o)
	first := b.trajectory(o, importers.BranchHistory)
	o.Drop("steps", "subagent_trajectories")
	b.Meta.OfMessage(max(first, 0), "continuation", o.Bytes())
}

func (b *builder) subagent(doc []byte) {
	o := jsontext.ParseObject(doc)
	if o == nil {
		must.Fail("it is %s, not an object", importers.Brief(doc))
	}
	first := b.trajectory(o, importers.BranchSubagent)
	if first < 0 {
		b.record.Lose("subagent_trajectories", "a subagent has no steps")
		return
	}
	o.Drop("steps", "subagent_trajectories")
	b.Meta.OfMessage(first, "subagent_trajectory", o.Bytes())
}

func toolsOf(agent, extra jsontext.Object) string {
	if agent.Has("tool_definitions") {
		return value.Tools(agent.Get("tool_definitions"))
	}
	for _, name := range []string{"tool_definitions", "tools"} {
		if v := extra.Get(name); len(v) > 0 && v[0] == '[' && onlyObjects(v) {
			return value.Tools(v)
		}
	}
	return ""
}

func onlyObjects(list []byte) bool {
	for e := range jsontext.Elements(list) {
		if e[0] != '{' {
			return false
		}
	}
	return true
}
