package calls

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"
)

// What the flags of a call say.
const (
	answered    = 1 << iota
	known       // calls with the same Own are the same
	named       // Own is of an id: calls with it are tries of one call
	ambiguous   // it becomes a failed row
	afterGap    // a call is missing before it
	beforeGap   // a call is missing after it
	contradicts // its id has other answers
	resampled   // several answers to the first prompt of its attempt were continued
)

// meta is what is held of a call to link it.
type meta struct {
	n       uint64 // in order of arrival
	own, by Digest // by of the field's value; zero for none
	content uint64
	whole   uint64 // of the row
	size    uint64 // of it, in bytes
	began   int64
	ended   int64
	flags   uint64
	tries   uint64
	prompt  uint64 // messages
	link
}

func metaOf(c *Call) *meta {
	prompt, _ := c.split()
	t := &c.Item.Row
	m := &meta{own: c.Own, content: c.content, began: c.began, ended: max(t.FinishedAt, c.began), prompt: uint64(len(prompt)), link: c.link}
	if c.By != "" {
		m.by = Digest(xxh3.HashString128(c.By))
	}
	if !c.failed() {
		m.flags |= answered
	}
	if c.named() {
		m.flags |= known
	}
	if t.TrajectoryID != "" {
		m.flags |= named
	}
	return m
}

func (m *meta) append(b []byte) []byte {
	b = number(b, m.n, m.own.Hi, m.own.Lo, m.by.Hi, m.by.Lo, m.content, m.whole, m.size, uint64(m.began), uint64(m.ended), m.flags, m.tries, m.prompt,
		m.first.Hi, m.first.Lo, uint64(len(m.steps)))
	for _, s := range m.steps {
		b = number(b, s.returned, s.of, s.between)
	}
	for _, keys := range m.said {
		b = number(number(b, uint64(len(keys))), keys...)
	}
	return b
}

func parseMeta(b []byte) *meta {
	next := func() (x uint64) {
		x, b = binary.BigEndian.Uint64(b), b[8:]
		return x
	}
	m := &meta{n: next(), own: Digest{next(), next()}, by: Digest{next(), next()}, content: next(), whole: next(), size: next(),
		began: int64(next()), ended: int64(next()), flags: next(), tries: next(), prompt: next()}
	m.first = Digest{next(), next()}
	if n := next(); n > 0 {
		m.steps = make([]step, n)
	}
	for i := range m.steps {
		m.steps[i] = step{next(), next(), next()}
	}
	for len(b) > 0 {
		keys := make([]uint64, next())
		for i := range keys {
			keys[i] = next()
		}
		m.said = append(m.said, keys)
	}
	return m
}

// partitionBytes of a place are the same for the calls that may be of one conversation.
const partitionBytes = 24

// place returns the key by which calls are sorted to be linked.
func (m *meta) place() []byte {
	if m.by != (Digest{}) {
		return number(nil, 1, m.by.Hi, m.by.Lo, m.prompt, m.own.Hi, m.own.Lo, m.whole, m.n)
	}
	return number(nil, 0, m.first.Hi, m.first.Lo, m.prompt, m.own.Hi, m.own.Lo, m.whole, m.n)
}

// once returns the calls that the rows with one Own stand for: one, if they are its copies and tries.
// Several answers under one id contradict each other: they stay, ambiguous.
func (j *Joiner) once(all []*meta) []*meta {
	if all[0].flags&known == 0 || len(all) == 1 {
		return all
	}
	slices.SortFunc(all, func(a, b *meta) int { // the one to keep first: answered, of the most bytes
		return cmp.Or(-cmp.Compare(a.flags&answered, b.flags&answered), cmp.Compare(a.content, b.content), -cmp.Compare(a.size, b.size),
			cmp.Compare(a.began, b.began), cmp.Compare(a.whole, b.whole))
	})
	answers := slices.IndexFunc(all, func(m *meta) bool { return m.flags&answered == 0 })
	if answers < 0 {
		answers = len(all)
	}
	kept := slices.CompactFunc(slices.Clone(all[:answers]), func(a, b *meta) bool { return a.content == b.content })
	failures := all[answers:]
	switch {
	case len(kept) > 1:
		for _, m := range kept {
			m.flags |= ambiguous | contradicts
		}
	case len(kept) == 0: // the last try
		kept = append(kept, slices.MaxFunc(failures, func(a, b *meta) int {
			return cmp.Or(cmp.Compare(a.ended, b.ended), cmp.Compare(a.began, b.began), cmp.Compare(a.whole, b.whole))
		}))
	}
	if m := kept[0]; len(kept) == 1 && m.flags&named != 0 && len(failures) > 0 {
		times := map[[2]int64]bool{{m.began, m.ended}: true}
		for _, f := range failures {
			times[[2]int64{f.began, f.ended}] = true
			if f.began > 0 {
				m.began = min(m.began, f.began)
			}
		}
		m.tries = uint64(len(times))
	}
	j.counts.Copies += int64(len(all) - len(kept))
	return kept
}

// linked says to which conversation a call belongs, and where in it.
type linked struct {
	began    int64  // the conversation
	id       Digest // of it
	root     uint64 // a number that no other has: two conversations may be equal
	place    uint64 // of the call
	flags    uint64
	own      int64 // when the call began
	attempts uint64
	parent   uint64 // 1 + the place of the call whose answer it continues; 0 for none
}

const (
	conversationBytes = 32 // of linked, the same for the calls of a conversation
	linkedWords       = 4  // after its place
)

func (l *linked) append(b []byte) []byte {
	return number(b, uint64(l.began), l.id.Hi, l.id.Lo, l.root, l.place, l.flags, uint64(l.own), l.attempts, l.parent)
}
