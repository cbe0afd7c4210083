package witness

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/pipelines/look/align"
)

// maxItems is how many items of a conversation are aligned between the first and the last that differ.
const maxItems = 4000

// none is no item; -1 is before all of them.
const none = -2

// matched are two records of one attempt. Item i of the first is item with[0][i] of the second, and so back.
type matched struct {
	of    [2][]item
	with  [2][]int
	main  [2][]*item // the answers of a main conversation
	turns [][2]*item // those that are aligned, in order
	moved [][2]*item // those that the second has at another place
}

// match aligns the main conversations, then finds equal answers anywhere. Between items that are aligned
// it takes those of one sort for each other if there are as many in both, and so messages after one answer.
func match(a, b []item) *matched {
	m := &matched{of: [2][]item{a, b}}
	var keys [2][]uint64
	var at [2][]int
	for side, all := range m.of {
		m.with[side] = make([]int, len(all))
		for i := range all {
			x := &all[i]
			if m.with[side][i] = none; x.inMain() {
				keys[side], at[side] = append(keys[side], x.key), append(at[side], i)
			}
			if x.sort == answers {
				m.main[side] = append(m.main[side], x)
			}
		}
	}
	common := align.Common(keys[0], keys[1], maxItems)
	for n, c := range common {
		common[n] = [2]int{at[0][c[0]], at[1][c[1]]}
		m.pair(common[n], &m.turns)
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
			m.pair([2]int{i, list[0]}, &m.moved)
		}
	}
	m.rest(true, func(side, i int) int {
		gap, _ := slices.BinarySearchFunc(common, i, func(c [2]int, i int) int { return c[side] - i })
		return gap
	})
	m.rest(false, func(side, i int) int {
		after := m.of[side][i].after
		if side == 0 || after < 0 {
			return after
		}
		return m.with[1][after]
	})
	return m
}

// rest pairs what is left of both, answers or other messages, if as many of a sort have one place.
func (m *matched) rest(isAnswer bool, place func(side, i int) int) {
	left := map[string]*[2][]int{}
	for side, all := range m.of {
		for i := range all {
			if x := &all[i]; m.with[side][i] < 0 && x.inMain() && x.isAnswer() == isAnswer {
				name := fmt.Sprint(x.sort, place(side, i))
				if left[name] == nil {
					left[name] = &[2][]int{}
				}
				left[name][side] = append(left[name][side], i)
			}
		}
	}
	for _, l := range left {
		for k := 0; len(l[0]) == len(l[1]) && k < len(l[0]); k++ {
			m.pair([2]int{l[0][k], l[1][k]}, nil)
		}
	}
}

// pair pairs two items, and adds two answers of the main conversations to a list.
func (m *matched) pair(at [2]int, to *[][2]*item) {
	a, b := &m.of[0][at[0]], &m.of[1][at[1]]
	if m.with[0][at[0]], m.with[1][at[1]] = at[1], at[0]; to != nil && a.sort == answers && b.sort == answers {
		*to = append(*to, [2]*item{a, b})
	}
}
