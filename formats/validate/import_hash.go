package validate

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// with returns the hash of what h is the hash of, followed by a number or by the
// hash of a text. It is not the text's hash with h as its seed: those of short
// texts are equal when the difference of the seeds is that of the texts.
func with(h, next uint64) uint64 { return h*0x9e3779b97f4a7c15 + next }

// contentHash hashes what the messages of a conversation say, without the ids of
// calls, which are different each time.
func contentHash(t *formats.Trajectory) (h uint64) {
	for i := range t.Messages {
		m := &t.Messages[i]
		h = with(with(h, uint64(m.Parent)), saidHash(m))
	}
	return h
}

// saidHash is contentHash of one message.
func saidHash(m *formats.Message) (h uint64) {
	for k, text := range [...]string{m.Role, m.Content, m.ContentParts, m.Name, m.Reasoning} {
		if text != "" {
			h = with(h, xxh3.HashString(text)+uint64(k))
		}
	}
	for k := range m.ToolCalls {
		h = with(with(h, xxh3.HashString(m.ToolCalls[k].Name)), xxh3.HashString(m.ToolCalls[k].Arguments))
	}
	return h
}

// idHash hashes the source's id. Both sides of a pair have the id of their
// record. Among 10 million different ids, two have an equal hash with a
// probability of 3 in a million.
func idHash(s *Source) uint64 {
	h := xxh3.HashString(s.ID)
	switch {
	case s.Preferred == nil:
		return h
	case *s.Preferred:
		return with(h, 1)
	}
	return with(h, 2)
}
