package validate

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// turns are what check prefix_rows compares of a conversation.
type turns struct {
	last    uint64    // hash of the main path up to its last answer; 0 for none
	earlier [4]uint64 // of the paths up to the other answers that are nearest
	attempt uint64    // hash of what the source calls the attempt; 0 for nothing
	index   uint64    // of the source's own index of the call; 0 for none
}

// Names by which sources number the calls of an attempt, and name the attempt.
var (
	callNames = []string{"call", "callindex", "callidx", "callnumber", "callno", "step", "stepindex", "stepidx", "stepnumber", "stepid",
		"turn", "turnindex", "turnidx", "turnnumber", "turnid", "requestindex", "requestidx", "responseindex", "messageindex", "episode"}
	attemptNames = []string{"trial", "trialname", "trialid", "trajectoryid", "trajid", "sessionid", "attemptid", "rolloutid", "traceid",
		"conversationid", "threadid", "sourceid"}
)

func turnsOf(t *formats.Trajectory) (h turns) {
	var some [64]uint64
	sums, last := some[:0], len(t.Messages)-1
	for last >= 0 && t.Messages[last].Role != "assistant" {
		last = min(int(t.Messages[last].Parent), last-1) // damaged rows may have others
	}
	for i := range t.Messages {
		m, sum := &t.Messages[i], uint64(1)
		if 0 <= m.Parent && int(m.Parent) < i {
			sum = sums[m.Parent]
		}
		sum = with(with(with(sum, xxh3.HashString(m.Role)), xxh3.HashString(m.Content)), xxh3.HashString(m.ContentParts))
		for k := range m.ToolCalls {
			sum = with(with(sum, xxh3.HashString(m.ToolCalls[k].Name)), xxh3.HashString(m.ToolCalls[k].Arguments))
		}
		if sums = append(sums, sum); i == last {
			h.last = sum
		} else if m.Role == "assistant" {
			copy(h.earlier[1:], h.earlier[:])
			h.earlier[0] = sum
		}
	}
	if isKept(t) {
		for key, v := range jsontext.Members(bytesOf(t.Metadata)) {
			const longest = 64
			if len(v) > longest || len(key) > longest || v[0] == '{' || v[0] == '[' {
				continue
			}
			switch name := plain(formats.Text(key)); {
			case h.index == 0 && slices.Contains(callNames, name):
				h.index = max(xxh3.Hash(v), 1)
			case slices.Contains(attemptNames, name):
				h.attempt = with(with(max(h.attempt, 1), xxh3.HashString(name)), xxh3.Hash(v))
			}
		}
	}
	return h
}

// minChain is how many rows, each the beginning of the next, are one attempt with a row
// for each of its calls. A pair may be a short attempt and a longer one.
const minChain = 3

// chained reports whether the rows of a group are calls and not attempts: at least a
// third of them are the beginning of another one, in a chain of minChain or more, or the
// source numbers the calls of an attempt or of a row and its beginning.
func chained(rows []turns) bool {
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
