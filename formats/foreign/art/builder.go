package art

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// histories adds the messages, the additional histories first, so that the
// trajectory's own are the main path.
func (b *builder) histories(o jsontext.Object, additional []byte, optional bool) {
	must.Each("additional_histories", additional, func(raw []byte) { b.history(jsontext.ParseObject(raw)) })
	if !optional || o.Has("messages_and_choices") {
		b.history(o)
	}
}

// history adds one sequence: messages and choices, or the messages of version 1.
func (b *builder) history(o jsontext.Object) {
	name, add := "messages_and_choices", b.entry
	if !o.Has(name) {
		name, add = "messages", b.flat
	}
	list := must.List(name, o.Get(name))
	b.Offer(value.Tools(o.Get("tools")))
	b.Continue(-1)
	must.Each(name, list, add)
}

// entry adds a message or a Choice.
func (b *builder) entry(raw []byte) {
	if !jsontext.ParseObject(raw).Has("message") {
		m, kept := value.Message(raw)
		b.input(m, kept)
		return
	}
	c := value.ReadChoice(raw)
	b.sampled(c, formats.Call{Target: true, PolicyVersion: b.version,
		CompletionTokens: int32(max(len(c.Message.TokenIDs), len(c.Message.Logprobs))), PromptTokens: int32(len(c.Prompt))})
}

// flat adds a message of version 1.
func (b *builder) flat(raw []byte) {
	o := jsontext.ParseObject(raw)
	trained := jsontext.IsTrue(o.Get("trainable"))
	o.Drop("trainable")
	if calls := o.Get("tool_calls"); len(calls) > 0 && calls[0] == '"' {
		text := []byte(jsontext.Unquote(calls))
		if !jsontext.Valid(text) {
			must.Fail("tool_calls is not JSON: %s", importers.Brief(text))
		}
		o.Set("tool_calls", text)
	}
	m, kept := value.Message(o.Bytes())
	if !trained {
		b.input(m, kept)
		return
	}
	b.sampled(value.Choice{Message: m, Rest: kept}, formats.Call{Target: true})
}

// relabel makes branches of the messages that are not on the main path, and of these only.
func relabel(t *formats.Trajectory) {
	main := make([]bool, len(t.Messages))
	for _, i := range t.Main() {
		main[i], t.Messages[i].Branch = true, ""
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		switch {
		case main[i] || m.Branch != "":
		case m.Parent < 0:
			m.Branch = importers.BranchSubagent
		case main[m.Parent]:
			m.Branch = importers.BranchHistory
		}
	}
}

type builder struct {
	importers.Draft
	record  *importers.Record
	version *int64 // of the policy, when it is the same in the whole trajectory
}

// input adds a message unless an earlier history has it at the same place.
func (b *builder) input(m formats.Message, kept jsontext.Object) {
	at, added := b.Follow(m, func(known int) bool {
		return !b.Messages[known].Sampled && b.Messages[known].Name == m.Name
	})
	if added {
		b.Meta.NonEmptyOfMessage(at, kept)
	}
}

// sampled adds an answer unless an earlier history has it at the same place.
func (b *builder) sampled(c value.Choice, call formats.Call) {
	m := c.Message
	at := b.Find(&m, func(i int) bool {
		known := &b.Messages[i]
		return known.Sampled && slices.Equal(known.TokenIDs, m.TokenIDs) && slices.Equal(known.Logprobs, m.Logprobs)
	})
	if at >= 0 {
		b.Continue(at)
		return
	}
	b.Source = cmp.Or(b.Source, c.Source)
	m.PromptDeltaIDs, m.PrefixBreak = b.PromptDelta(c.Prompt)
	m.Branch = b.Diverges()
	b.Meta.NonEmptyOfMessage(b.Sampled(m, call), c.Rest)
}
