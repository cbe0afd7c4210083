package validate

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// pair are hashes of what decides whether two rows make a preference: of the prompt with
// its tools, which must be equal, and of the answer, which must not. They are 0 without an
// answer.
type pair struct{ prompt, answer uint64 }

// pairs returns where a row can differ from another one: at its first answer, after which
// all counts as the answer, and at its last one.
func (r *Row) pairs(t *formats.Trajectory) (at [2]pair) {
	sum, trained, messages := uint64(1), 0, r.said()
	var path []int
	if r.shows().branched {
		path = t.Main()
	}
	for i := range t.Messages {
		if path != nil {
			if i >= len(path) {
				break
			}
			i = path[i]
		}
		said := messages[i].whole
		if t.Trained(i) {
			trained++
			at[1] = pair{with(sum, xxh3.HashString(chat.ToolsOf(t, i))), said}
			if trained == 1 {
				at[0] = at[1]
			}
		}
		if sum = with(sum, said); trained > 1 {
			at[0].answer = sum
		}
	}
	return at
}

// unpaired notes which of the rows that DPO could use have no other row to be paired with.
func unpaired(rows []fact) {
	able := func(f *fact) bool { return f.scored && !f.pairs && f.found.blocked()&forDPO == 0 }
	const few = 32 // rows that are compared with each other in less time than they are counted
	for i := 0; i < len(rows) && len(rows) <= few; i++ {
		f := &rows[i]
		if able(f) && !slices.ContainsFunc(rows, func(o fact) bool { return able(&o) && f.pairsWith(&o) }) {
			f.found |= unpairedSet
		}
	}
	if len(rows) <= few {
		return
	}
	type key struct {
		prompt, answer uint64
		score          float64
		of             int
	}
	count := map[key]int{} // rows with a prompt; with an answer to it, with a score, with both
	keys := func(f *fact, at int) [4]key {
		p := f.differs[at]
		return [...]key{{p.prompt, 0, 0, at}, {p.prompt, p.answer, 0, at + 2}, {p.prompt, 0, f.score, at + 4},
			{p.prompt, p.answer, f.score, at + 6}}
	}
	for i := range rows {
		for at := range rows[i].differs {
			for _, k := range keys(&rows[i], at) {
				if able(&rows[i]) {
					count[k]++
				}
			}
		}
	}
	for i := range rows {
		others := 0
		for at := range rows[i].differs {
			k := keys(&rows[i], at)
			others += count[k[0]] - count[k[1]] - count[k[2]] + count[k[3]]
		}
		if able(&rows[i]) && others == 0 {
			rows[i].found |= unpairedSet
		}
	}
}

// pairsWith reports whether another row has the same prompt, another answer and another score.
func (f *fact) pairsWith(o *fact) bool {
	for at, p := range f.differs {
		if q := o.differs[at]; p.prompt == q.prompt && p.answer != q.answer && f.score != o.score {
			return true
		}
	}
	return false
}
