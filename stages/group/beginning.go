package group

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
)

// Beginnings are the parts of a group that share all messages of their main paths up to
// the first sampled one: the branches of a tree. Roles, names, texts, content parts,
// reasoning, names and arguments of tool calls, and token ids must be equal; ids of tool
// calls need not be. Without a sampled message the whole path counts.
var Beginnings = &By{columns: append([]string{"messages.reasoning", "messages.tool_calls.name", "messages.tool_calls.arguments",
	"messages.token_ids"}, Looks{States: true}.columns()...)}

// beginning returns the digest of a row of which only those columns were read.
func beginning(t *formats.Trajectory) string {
	var said []formats.Message
	for _, i := range t.Main() {
		m := t.Messages[i]
		m.Parent, m.Call = 0, 0 // messages of side branches lie between them
		if said = append(said, m); m.Sampled {
			break
		}
	}
	sum := xxh3.Hash128(spill.Append(nil, &said)).Bytes()
	return string(sum[:])
}
