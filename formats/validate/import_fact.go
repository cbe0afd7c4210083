package validate

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
)

// fact is what is kept of a row until all rows of its group are known.
type fact struct {
	place
	found   set
	content uint64  // a hash
	score   float64 // by which it is compared in its group
	scored  bool    // it has a score
	turns   turns   // of its conversation
	pairs   bool    // they can be made of its own candidates
	differs [2]pair // what another row must have, and must not
}

type place struct {
	n            uint64 // rows before it
	file         uint32 // as an index into SourceCheck.files
	line, record int64
}

// numbers are what a fact keeps but n, which is in its key, and what is true of it.
type numbers [17]uint64

// append appends a fact: which of its numbers are not 0, and these. Few rows have all.
func (f *fact) append(b []byte) []byte {
	x, y := f.differs[0], f.differs[1] // mostly the same
	all := numbers{uint64(f.found), f.content, math.Float64bits(f.score), uint64(f.line), uint64(f.record), uint64(f.file),
		x.prompt, x.answer, x.prompt ^ y.prompt, x.answer ^ y.answer,
		f.turns.last, f.turns.earlier[0], f.turns.earlier[1], f.turns.earlier[2], f.turns.earlier[3], f.turns.attempt, f.turns.index}
	at, has := len(b), bit(f.scored)<<len(all)|bit(f.pairs)<<(len(all)+1)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for i, x := range all {
		if x != 0 {
			has |= 1 << i
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	binary.LittleEndian.PutUint32(b[at:], has)
	return b
}

func bit(is bool) uint32 {
	if is {
		return 1
	}
	return 0
}

// decoded returns the fact of the n-th row, and what follows it.
func decoded(n uint64, b []byte) (fact, []byte) {
	var x numbers
	has, b := binary.LittleEndian.Uint32(b), b[4:]
	for i := range x {
		if has>>i&1 != 0 {
			x[i], b = binary.LittleEndian.Uint64(b), b[8:]
		}
	}
	return fact{
		place: place{n: n, file: uint32(x[5]), line: int64(x[3]), record: int64(x[4])},
		found: set(x[0]), content: x[1], score: math.Float64frombits(x[2]), scored: has>>len(x)&1 != 0, pairs: has>>(len(x)+1)&1 != 0,
		differs: [2]pair{{x[6], x[7]}, {x[6] ^ x[8], x[7] ^ x[9]}},
		turns:   turns{x[10], [4]uint64{x[11], x[12], x[13], x[14]}, x[15], x[16]},
	}, b
}

// split returns the numbers of such a key.
func split(key []byte) (hash, n uint64) {
	return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
}

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
		if silent(m) { // its ids are all that it says
			for _, ids := range [][]int32{m.PromptDeltaIDs, m.TokenIDs} {
				for _, id := range ids {
					h = with(h, uint64(id)+1)
				}
			}
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
