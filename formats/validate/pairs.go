package validate

import (
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
	sum, trained := uint64(1), 0
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
		said := saidHash(&t.Messages[i])
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
	type key struct {
		prompt, answer uint64
		score          float64
		of             int
	}
	count := map[key]int{} // rows with a prompt; with an answer to it, with a score, with both
	keys := func(f *fact, at int) [4]key {
		p := f.differs[at]
		return [...]key{{p.prompt, 0, 0, at}, {p.prompt, p.answer, 0, at + 2}, {p.prompt, 0, f.score, at + 4}, {p.prompt, p.answer, f.score, at + 6}}
	}
	able := func(f *fact) bool { return f.scored && !f.pairs && f.found.blocked()&forDPO == 0 }
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
