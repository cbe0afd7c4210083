package validate

import (
	"slices"
)

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

var newPrefixRows = inGroups(func(r *Row) (turnsRow, bool) {
	if r.wide() == nil {
		return turnsRow{}, false
	}
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
