package validate

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// newCopies checks for rows of a group that are one attempt under two ids: the same
// payload, started and finished at the same microsecond; and for an id that occurs
// twice in a group. A source may number the rows of each file, so an import's
// counter wants the same conversation, too, of rows with the same id.
var newCopies = inWideGroups(attemptOf, copied)

type attempt struct {
	kept
	digest       string
	began, ended int64
}

func attemptOf(r *Row, t *formats.Trajectory) (a attempt, checks bool) {
	a.kept = keep(r)
	if t.StartedAt != 0 && t.FinishedAt != 0 && t.HasPayloadDigest() {
		a.digest, a.began, a.ended = strings.Clone(t.PayloadDigest), t.StartedAt, t.FinishedAt
	}
	return a, true
}

func copied(c *Count, _ string, members []attempt) {
	seen, ids := map[attempt]string{}, map[string]bool{}
	c.Of += int64(len(members))
	for _, m := range members {
		if ids[m.id] {
			c.add(m.kept, "", "a row before it has the same id")
			continue
		}
		if ids[m.id] = true; m.digest == "" {
			continue
		}
		k := m
		k.kept = kept{}
		if was, again := seen[k]; again {
			c.add(m.kept, "", "the same attempt as %s", was)
			continue
		}
		seen[k] = m.id
	}
}

// newTwins checks for rows of a group that sampled the same ids with exactly the same
// logprobs, in answers too long for a coincidence.
var newTwins = inGroups(sampledHash, twins)

const minTwin = 64 // sampled ids

func sampledHash(r *Row) (answer, bool) {
	h, n := xxh3.New(), 0
	r.trained(func(_ int, m *formats.Message) bool {
		var b [8]byte
		for k := range min(len(m.TokenIDs), len(m.Logprobs)) {
			binary.LittleEndian.PutUint32(b[:4], uint32(m.TokenIDs[k]))
			binary.LittleEndian.PutUint32(b[4:], math.Float32bits(m.Logprobs[k]))
			h.Write(b[:])
			n++
		}
		return true
	})
	if n < minTwin {
		return answer{}, false
	}
	return answer{keep(r), h.Sum128()}, true
}

func twins(c *Count, _ string, members []answer) {
	seen := map[xxh3.Uint128]string{}
	c.Of += int64(len(members))
	for _, m := range members {
		if was, again := seen[m.digest]; again {
			c.add(m.kept, "", "as %s", was)
			continue
		}
		seen[m.digest] = m.id
	}
}

// turns are what check prefix_rows compares of a conversation.
type turns struct {
	last    uint64    // hash of the main path up to its last answer; 0 for none
	earlier [4]uint64 // of the paths up to the other answers that are nearest

	attempt, index uint64 // as unread has them
}

func (r *Row) turns() (h turns) {
	var some [64]uint64
	t := r.Trajectory
	sums, last := some[:0], len(t.Messages)-1
	for last >= 0 && t.Messages[last].Role != "assistant" {
		last = min(int(t.Messages[last].Parent), last-1) // damaged rows may have others
	}
	for i, said := range r.said() {
		m, sum := &t.Messages[i], uint64(1)
		if 0 <= m.Parent && int(m.Parent) < i {
			sum = sums[m.Parent]
		}
		sum = with(sum, said.again)
		if sums = append(sums, sum); i == last {
			h.last = sum
		} else if m.Role == "assistant" {
			copy(h.earlier[1:], h.earlier[:])
			h.earlier[0] = sum
		}
	}
	h.attempt, h.index = r.keeps().attempt, r.keeps().index
	return h
}

// minChain is how many rows, each the beginning of the next, are one attempt with a row
// for each of its calls. A pair may be a short attempt and a longer one.
const minChain = 3

// chained reports whether the rows of a group are calls and not attempts: at least a
// third of them are the beginning of another one, in a chain of minChain or more, or the
// source numbers the calls of an attempt or of a row and its beginning.
func chained(rows []turns) bool {
	if !slices.ContainsFunc(rows, func(r turns) bool { return r.earlier[0] != 0 || r.index != 0 }) {
		return false // one answer each
	}
	ends, begins, numbered := map[uint64]uint64{}, map[uint64]bool{}, map[uint64]uint64{}
	for _, r := range rows {
		if ends[r.last] = r.index; r.attempt != 0 && r.index != 0 {
			if other := numbered[r.attempt]; other != 0 && other != r.index {
				return true
			}
			numbered[r.attempt] = r.index
		}
	}
	longest := 0
	for _, r := range rows {
		chain := 1
		for _, sum := range r.earlier {
			index, there := ends[sum]
			if !there || sum == r.last || sum == 0 {
				continue
			}
			if begins[sum], chain = true, chain+1; index != 0 && r.index != 0 && index != r.index {
				return true
			}
		}
		longest = max(longest, chain)
	}
	prefixes := 0
	for _, r := range rows {
		if r.last != 0 && begins[r.last] {
			prefixes++
		}
	}
	return longest >= minChain && 3*prefixes >= len(rows)
}

// turnsRow is what check prefix_rows remembers of a row.
type turnsRow struct {
	kept
	turns
}

var newPrefixRows = inWideGroups(func(r *Row, _ *formats.Trajectory) (turnsRow, bool) {
	return turnsRow{keep(r), r.turns()}, true
}, func(c *Count, _ string, members []turnsRow) {
	c.Of += int64(len(members))
	all := make([]turns, len(members))
	for i := range members {
		all[i] = members[i].turns
	}
	if !chained(all) {
		return
	}
	for _, m := range members {
		c.add(m.kept, "", "")
	}
})
