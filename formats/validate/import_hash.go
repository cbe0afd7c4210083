package validate

import (
	"github.com/zeebo/xxh3"
)

// with returns the hash of what h is the hash of, followed by a number or by the
// hash of a text. It is not the text's hash with h as its seed: those of short
// texts are equal when the difference of the seeds is that of the texts.
func with(h, next uint64) uint64 { return h*0x9e3779b97f4a7c15 + next }

// said are hashes of what a message says, without the ids of calls, which are different
// each time: as it comes back in the history, without its name and reasoning, and whole.
type said struct{ again, whole uint64 }

// said returns the hashes of each message.
func (r *Row) said() []said {
	for i := len(r.messages); i < len(r.Trajectory.Messages); i++ {
		m := &r.Trajectory.Messages[i]
		h := texts(0, m.Role, m.Content, m.ContentParts)
		for k := range m.ToolCalls {
			h = with(with(h, xxh3.HashString(m.ToolCalls[k].Name)), xxh3.HashString(m.ToolCalls[k].Arguments))
		}
		r.messages = append(r.messages, said{h, texts(with(h, 1), m.Name, m.Reasoning)})
	}
	return r.messages
}

func texts(h uint64, all ...string) uint64 {
	for k, text := range all {
		if text != "" {
			h = with(h, xxh3.HashString(text)+uint64(k))
		}
	}
	return h
}

// contentHash hashes what the messages of a conversation say.
func (r *Row) contentHash() (h uint64) {
	for i, s := range r.said() {
		h = with(with(h, uint64(r.Trajectory.Messages[i].Parent)), s.whole)
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
