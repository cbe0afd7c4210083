package calls

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/spill"
)

// partition links calls that may be of one conversation: those with one value of the field, or whose
// prompts are the same up to the first message of an assistant.
type partition struct {
	calls  []*meta // the shorter prompt first
	byTime bool

	nodes   []node            // of calls
	asked   map[uint64]bool   // prompts
	answers map[uint64]int32  // 1 + the index in givers of the latest answer, by prompt and key
	givers  []giver           // of answers
	said    map[uint64]bool   // by conversation and key: answers, whatever their prompt
	missing map[uint64]int32  // the tree that begins after a missing answer
	trees   int32             // so many
	first   map[uint64]uint64 // the answer to a first prompt of an attempt that was continued
}

// node is what is found out of a call.
type node struct {
	prompt   uint64 // key of the whole prompt
	parent   int32  // the call whose answer it continues; -1 for none
	tree     int32  // until all calls have one: as if no call was missing, and none ambiguous
	lacks    []lack // after that answer
	goneOn   bool   // a call continues it
	began    int64
	place    int  // 1 + its index in the tree
	fromRoot bool // no answer comes before it
}

// lack is an answer in a prompt that no call gave, to a prompt that none asked. If its conversation did not say
// it elsewhere either, its call is missing.
type lack struct{ said, prompt uint64 }

// giver is a call that gave an answer, and the next such call.
type giver struct {
	call, next int32
	of         uint64 // key of the answer
}

func mix(a, b uint64) uint64 {
	var buf [16]byte
	return xxh3.Hash(spill.Key(buf[:0], a, b))
}

// session reports whether the calls have one value of the field.
func (p *partition) session() bool { return p.calls[0].By != Digest{} }

// link sets the parent and the tree of each call.
func (p *partition) link() {
	p.nodes = make([]node, len(p.calls))
	p.asked, p.answers, p.said = map[uint64]bool{}, map[uint64]int32{}, map[uint64]bool{}
	p.missing, p.first = map[uint64]int32{}, map[uint64]uint64{}
	if p.byTime {
		slices.SortStableFunc(p.calls, func(a, b *meta) int { return cmp.Compare(a.Began, b.Began) })
	}
	if p.session() {
		p.trees = 1 // all calls that continue none
	}
	for i := range p.calls {
		p.add(int32(i))
	}
	for i := range p.calls {
		p.divide(i)
	}
}

// add links call i to those before it.
func (p *partition) add(i int32) {
	m, n := p.calls[i], &p.nodes[i]
	last := p.walk(m, n)
	n.parent, n.fromRoot = -1, last == 0
	if last != 0 && m.Flags&ambiguous == 0 {
		n.parent = p.choose(last, m)
	}
	if n.parent >= 0 {
		n.tree = p.nodes[n.parent].tree
		p.nodes[n.parent].goneOn = p.nodes[n.parent].goneOn || m.Flags&answered != 0
	} else if !p.session() {
		n.tree, p.trees = p.trees, p.trees+1
	}
	p.asked[n.prompt] = true
	for _, keys := range m.Said {
		for _, key := range keys[1:] {
			p.said[mix(uint64(n.tree), key)] = true
			if at := mix(n.prompt, key); m.Flags&ambiguous == 0 { // else it contradicts another one of its id
				p.givers = append(p.givers, giver{i, p.answers[at], keys[0]})
				p.answers[at] = int32(len(p.givers))
			}
		}
	}
}

// walk follows a prompt. It returns the givers of the longest known answer with which it begins, 0 for none.
func (p *partition) walk(m *meta, n *node) (last int32) {
	at := mix(m.First.Hi, m.First.Lo)
	for k, s := range m.Steps {
		if found := p.answers[mix(at, s.Returned)]; found != 0 {
			last, n.lacks = found, nil
			at = mix(at, p.givers[found-1].of)
		} else {
			prefill := k == len(m.Steps)-1 && s.Between == 0
			if last != 0 && !p.asked[at] && !prefill {
				n.lacks = append(n.lacks, lack{s.Returned, mix(at, s.Of)})
			}
			at = mix(at, s.Of)
		}
		at = mix(at, s.Between)
	}
	n.prompt = at
	return last
}

// choose returns which of the calls that gave an answer a call continues; -1 if that is not known.
func (p *partition) choose(last int32, m *meta) int32 {
	latest, one := int32(-1), true // of those that had ended
	newest := p.givers[last-1].call
	tree := p.nodes[newest].tree
	open := int32(-1)
	for at := last; at != 0; at = p.givers[at-1].next {
		i := p.givers[at-1].call
		g := p.calls[i]
		one = one && p.nodes[i].tree == tree
		if g.Ended == 0 || g.Ended > m.Began {
			continue
		}
		if latest < 0 || g.Ended > p.calls[latest].Ended {
			latest = i
		}
		if !p.nodes[i].goneOn && (open < 0 || g.Ended > p.calls[open].Ended) {
			open = i
		}
	}
	switch {
	case one || p.session():
		p.note(last, m)
		if latest < 0 {
			return newest
		}
		return latest
	case p.byTime && m.Began > 0:
		return open
	}
	for at := last; at != 0; at = p.givers[at-1].next {
		p.calls[p.givers[at-1].call].Flags |= ambiguous
	}
	return -1
}

// note finds attempts of which several answers to one first prompt were continued.
func (p *partition) note(last int32, m *meta) {
	g := p.givers[last-1]
	if n := &p.nodes[g.call]; p.session() && n.fromRoot {
		if other, some := p.first[n.prompt]; some && other != g.of {
			p.calls[0].Flags |= resampled
		} else if !some {
			p.first[n.prompt] = g.of
		}
	}
}

// divide begins a tree with a call that follows a missing or an ambiguous one, and with each ambiguous one.
func (p *partition) divide(i int) {
	m, n := p.calls[i], &p.nodes[i]
	own := m.Flags&ambiguous != 0
	if n.parent >= 0 {
		before, within := p.calls[n.parent], uint64(n.tree)
		n.tree = p.nodes[n.parent].tree
		gap := slices.IndexFunc(n.lacks, func(l lack) bool { return !p.said[mix(within, l.said)] })
		if gap >= 0 {
			before.Flags |= beforeGap
			at := mix(n.lacks[gap].prompt, uint64(n.tree))
			tree, begun := p.missing[at]
			if !begun {
				tree, p.trees = p.trees, p.trees+1
				p.missing[at], m.Flags = tree, m.Flags|afterGap
			}
			n.tree, n.parent = tree, -1
		}
		own = own || gap < 0 && before.Flags&ambiguous != 0
	}
	if own {
		n.tree, n.parent, p.trees = p.trees, -1, p.trees+1
	}
}

// emit passes on where each call belongs: the key of its place, and the calls with what became of them.
func (p *partition) emit(use func(m *meta, key []byte) error) error {
	trees := make([][]int32, p.trees)
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.began = p.calls[i].Began; n.parent >= 0 {
			n.began = max(n.began, p.nodes[n.parent].began)
		}
		trees[n.tree] = append(trees[n.tree], int32(i))
	}
	for _, of := range trees {
		if len(of) == 0 {
			continue
		}
		var ids []byte
		var times importers.Times
		for _, i := range of {
			m := p.calls[i]
			if ids = spill.Key(ids, m.Own.Hi, m.Own.Lo); m.Flags&contradicts != 0 {
				ids = spill.Key(ids, m.Content)
			}
			times.Add(m.Began)
		}
		id := xxh3.Hash128(ids)
		key := spill.Key(nil, uint64(times.Began), id.Hi, id.Lo, p.calls[of[0]].N)
		slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(p.nodes[a].began, p.nodes[b].began) })
		for k, i := range of {
			m, n := p.calls[i], &p.nodes[i]
			if n.place = k + 1; n.parent >= 0 {
				m.Parent = p.nodes[n.parent].place
			}
			m.Began, m.Steps, m.Said, m.Alike = n.began, nil, nil, nil
			if err := use(m, spill.Key(key[:conversationBytes:conversationBytes], uint64(k))); err != nil {
				return err
			}
		}
	}
	return nil
}
