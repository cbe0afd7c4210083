package validate

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// turns are hashes of a conversation: up to its last answer, and up to the answer before
// that one; 0 for none, and for a conversation with branches.
type turns struct{ last, before uint64 }

func turnsOf(t *formats.Trajectory) (h turns) {
	sum := uint64(1)
	for i := range t.Messages {
		m := &t.Messages[i]
		if int(m.Parent) != i-1 {
			return turns{}
		}
		sum = with(with(with(sum, xxh3.HashString(m.Role)), xxh3.HashString(m.Content)), xxh3.HashString(m.ContentParts))
		for k := range m.ToolCalls {
			sum = with(with(sum, xxh3.HashString(m.ToolCalls[k].Name)), xxh3.HashString(m.ToolCalls[k].Arguments))
		}
		if m.Role == "assistant" {
			h.before, h.last = h.last, sum
		}
	}
	return h
}

// minChain is how many rows, each the beginning of the next, are one attempt with a row
// for each of its calls. A pair may be a short attempt and a longer one.
const minChain = 3

// chained reports whether the rows of a group are calls and not attempts: at least a
// third of them are the beginning of another one, in a chain of minChain or more.
func chained(rows []turns) bool {
	if len(rows) < minChain {
		return false
	}
	before, begins := map[uint64]uint64{}, map[uint64]bool{}
	for _, r := range rows {
		if r.last != 0 {
			before[r.last], begins[r.before] = r.before, r.before != 0
		}
	}
	prefixes, longest := 0, 0
	for _, r := range rows {
		if r.last != 0 && begins[r.last] {
			prefixes++
		}
		n := 0
		for at, there := r.last, r.last != 0; there && n < minChain; _, there = before[at] {
			at = before[at]
			n++
		}
		longest = max(longest, n)
	}
	return longest >= minChain && 3*prefixes >= len(rows)
}

// turnsRow is what check prefix_rows remembers of a row.
type turnsRow struct {
	kept
	turns
}

var newPrefixRows = inGroups(func(r *Row) (turnsRow, bool) {
	t := r.wide()
	if t == nil {
		return turnsRow{}, false
	}
	return turnsRow{keep(r), turnsOf(t)}, true
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
