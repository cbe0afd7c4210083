package validate

import (
	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// pair are hashes of what decides whether two rows make a preference: of the prompt with
// its tools, which must be equal, and of the answer, which must not; that of a row with
// several answers is of all that follows. They are 0 without an answer.
type pair struct{ prompt, answer uint64 }

func (r *Row) pair(t *formats.Trajectory) (p pair) {
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
		if t.Trained(i) {
			if trained++; trained == 1 {
				p.prompt, sum = with(sum, xxh3.HashString(chat.ToolsOf(t, i))), 1
			}
		}
		if sum = with(sum, saidHash(&t.Messages[i])); trained == 1 && t.Trained(i) {
			p.answer = sum
		}
	}
	if trained > 1 {
		p.answer = sum
	}
	return p
}

// unpaired notes which of the rows that DPO could use have no other row to be paired with.
func unpaired(rows []fact) {
	type key struct {
		prompt, answer uint64
		score          float64
		of             int
	}
	count := map[key]int{} // rows with a prompt; with an answer to it, with a score, with both
	keys := func(f *fact) [4]key {
		p := f.pair
		return [...]key{{prompt: p.prompt}, {p.prompt, p.answer, 0, 1}, {p.prompt, 0, f.score, 2}, {p.prompt, p.answer, f.score, 3}}
	}
	able := func(f *fact) bool { return f.scored && !f.pairs && f.found.blocked()&forDPO == 0 }
	for i := range rows {
		if able(&rows[i]) {
			for _, k := range keys(&rows[i]) {
				count[k]++
			}
		}
	}
	for i := range rows {
		if k := keys(&rows[i]); able(&rows[i]) && count[k[0]]-count[k[1]]-count[k[2]]+count[k[3]] == 0 {
			rows[i].found |= unpairedSet
		}
	}
}
