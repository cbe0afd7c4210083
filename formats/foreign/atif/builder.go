package atif

import (
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

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
	o.Drop("steps")
	o.Drop("subagent_trajectories")
	b.Meta.OfMessage(first, "subagent_trajectory", o.Bytes())
}

// toolsOf returns the tools on offer.
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
