package witness

import (
	"fmt"

	"github.com/rollmill/rollmill/pipelines/look/align"
)

// maxItems is how many items of a conversation are aligned between the first and the last that differ.
const maxItems = 4000

// matched are two records of one attempt. Item i of the first is item with[0][i] of the second, and so back;
// -1 for none.
type matched struct {
	of    [2][]item
	with  [2][]int
	turns [][2]int // answers of both main conversations that are aligned, in order
	moved [][2]int // those that the second has at another place
	last  [2]int   // how many answers a main conversation has
}

// match aligns the main conversations, then finds equal answers anywhere. Between items that are aligned
// it takes those of one sort for each other if there are as many in both.
func match(a, b []item) *matched {
	m := &matched{of: [2][]item{a, b}}
	var keys [2][]uint64
	var at [2][]int
	for side, all := range m.of {
		m.with[side] = make([]int, len(all))
		for i := range all {
			if m.with[side][i] = -1; all[i].sort != auxiliary && all[i].sort != retries {
				keys[side], at[side] = append(keys[side], all[i].key), append(at[side], i)
			}
			if all[i].sort == answers {
				m.last[side] = all[i].number
			}
		}
	}
	ends := [][2]int{}
	for _, c := range align.Common(keys[0], keys[1], maxItems) {
		ends = append(ends, m.pair(at[0][c[0]], at[1][c[1]], &m.turns))
	}
	free := map[uint64][]int{}
	for j := range b {
		if m.with[1][j] < 0 && b[j].isAnswer() {
			free[b[j].key] = append(free[b[j].key], j)
		}
	}
	for i := range a {
		if list := free[a[i].key]; m.with[0][i] < 0 && a[i].isAnswer() && len(list) > 0 {
			free[a[i].key] = list[1:]
			m.pair(i, list[0], &m.moved)
		}
	}
	m.rest(append(ends, [2]int{len(a), len(b)}))
	return m
}

// rest pairs what is left of both: answers between two items that are aligned, and messages after one answer.
func (m *matched) rest(ends [][2]int) {
	for _, only := range []bool{true, false} { // answers first
		left := map[string]*[2][]int{}
		for side, all := range m.of {
			gap := 0
			for i := range all {
				x, place := &all[i], 0
				for ends[gap][side] < i {
					gap++
				}
				switch {
				case m.with[side][i] >= 0 || (x.sort == answers) != only || x.sort == auxiliary || x.sort == retries:
					continue
				case only:
					place = gap
				case x.after < 0 || side == 0:
					place = x.after
				case m.with[1][x.after] < 0:
					continue
				default:
					place = m.with[1][x.after]
				}
				name := fmt.Sprint(x.sort, place)
				if left[name] == nil {
					left[name] = &[2][]int{}
				}
				left[name][side] = append(left[name][side], i)
			}
		}
		for _, l := range left {
			for k := 0; len(l[0]) == len(l[1]) && k < len(l[0]); k++ {
				m.pair(l[0][k], l[1][k], nil)
			}
		}
	}
}

// pair pairs two items, and adds two answers of the main conversations to a list.
func (m *matched) pair(i, j int, to *[][2]int) [2]int {
	m.with[0][i], m.with[1][j] = j, i
	if to != nil && m.of[0][i].sort == answers && m.of[1][j].sort == answers {
		*to = append(*to, [2]int{i, j})
	}
	return [2]int{i, j}
}

// offset reports whether turn k of the first is always another turn of the second, so many before or behind.
func (m *matched) offset() bool {
	by := 0
	for n, at := range m.turns {
		d := m.of[0][at[0]].number - m.of[1][at[1]].number
		if n > 0 && d != by {
			return false
		}
		by = d
	}
	return by != 0 && len(m.turns) > 1 && m.last[0] == m.last[1] && len(m.turns) == m.last[0]-max(by, -by)
}
