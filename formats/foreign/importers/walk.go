package importers

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Read is a message of a source with the members that have no column.
type Read struct {
	formats.Message
	Others jsontext.Object
}

// Walk follows a prompt from the root for as long as its messages are known, and
// adds the others as input; what else they have is in the metadata, unless it is empty.
// The next message is added after the last of them. The first message of a branch says
// why it is one.
func (c *Conversation) Walk(prompt []Read, meta *Metadata) {
	c.Continue(-1)
	for _, m := range prompt {
		if at, added := c.Follow(m.Message, nil); added {
			meta.NonEmptyOfMessage(at, m.Others)
		}
	}
}

// Follow goes on to a message (see Find), and adds it as input unless it is known.
func (c *Conversation) Follow(m formats.Message, want func(known int) bool) (at int, added bool) {
	if at = c.Find(&m, want); at < 0 {
		m.Branch = c.Diverges()
		return c.Input(m), true
	}
	c.Continue(at)
	return at, false
}

// Again returns the branch name for the next answer: a retry when its prompt has an answer.
func (c *Conversation) Again() string {
	if c.index(); c.followed[c.at].sampled {
		return BranchRetry
	}
	return c.Diverges()
}

// Diverges returns the branch of a message that is added next, "" when it is the
// first to follow what is before it.
func (c *Conversation) Diverges() string {
	c.index()
	switch {
	case !c.followed[c.at].any:
		return ""
	case c.at == 0:
		return BranchSubagent
	}
	return BranchHistory
}

// Find returns the first of the messages that follow the one before the next,
// that want accepts, and that m is (see Same); -1 for none. A nil want accepts
// all.
func (c *Conversation) Find(m *formats.Message, want func(known int) bool) int {
	c.index()
	for _, i := range c.places[place{c.at - 1, hash(m)}] {
		if (want == nil || want(int(i))) && Same(&c.Messages[i], m) {
			return int(i)
		}
	}
	return -1
}

// SetCalls sets the tool calls of a message that was added without all of them.
func (c *Conversation) SetCalls(message int, calls []formats.ToolCall) {
	m := &c.Messages[message]
	if m.ToolCalls = calls; message < c.indexed {
		p := place{m.Parent, hash(m)}
		if at, there := slices.BinarySearch(c.places[p], int32(message)); !there {
			c.places[p] = slices.Insert(c.places[p], at, int32(message)) // Same refuses it where it was
		}
	}
}

// place is what messages have in common that may be the same.
type place struct {
	parent int32
	hash   uint64
}

// followed says what follows a message.
type followed struct{ any, sampled bool }

// index notes the messages that were added since it was called last, so that a
// search looks at few of many that follow one message.
func (c *Conversation) index() {
	if c.places == nil {
		c.places = map[place][]int32{}
	}
	for len(c.followed) <= len(c.Messages) {
		c.followed = append(c.followed, followed{})
	}
	for ; c.indexed < len(c.Messages); c.indexed++ {
		m := &c.Messages[c.indexed]
		p := place{m.Parent, hash(m)}
		c.places[p] = append(c.places[p], int32(c.indexed))
		before := &c.followed[m.Parent+1]
		before.any, before.sampled = true, before.sampled || m.Sampled
	}
}

var seed = maphash.MakeSeed()

// hash returns a number that messages share if they are the same (see Same).
func hash(m *formats.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, text := range []string{m.Role, m.Content, m.ContentParts, m.ToolCallID} {
		h.WriteString(text)
	}
	for _, call := range m.ToolCalls {
		h.WriteString(call.ID)
		h.WriteString(call.Name)
		for _, b := range []byte(given(call.Arguments)) {
			if ' ' < b && b < utf8.RuneSelf { // others may differ in JSON that is the same
				h.WriteByte(b)
			}
		}
	}
	return h.Sum64()
}

// Same reports whether a message of a prompt is a known one. An answer comes back
// without its reasoning, and with the JSON of its arguments written otherwise.
func Same(known, m *formats.Message) bool {
	if known.Role != m.Role || known.Content != m.Content || known.ContentParts != m.ContentParts ||
		known.ToolCallID != m.ToolCallID ||
		m.Reasoning != "" && known.Reasoning != m.Reasoning || len(known.ToolCalls) != len(m.ToolCalls) {
		return false
	}
	for i, a := range known.ToolCalls {
		b := m.ToolCalls[i]
		x, y := given(a.Arguments), given(b.Arguments)
		if a.ID != b.ID || a.Name != b.Name || x != y && !sameJSON(x, y) {
			return false
		}
	}
	return true
}

// given returns arguments, "" for none: some write {} for them in one place and nothing in another.
func given(arguments string) string {
	if text := strings.TrimSpace(arguments); len(text) < len("{     }") && strings.ReplaceAll(text, " ", "") == "{}" {
		return ""
	}
	return arguments
}

func sameJSON(a, b string) bool {
	x, y := []byte(a), []byte(b)
	return jsontext.Valid(x) && jsontext.Valid(y) && jsontext.Compact(x) == jsontext.Compact(y)
}
