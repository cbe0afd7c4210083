package art

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

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
