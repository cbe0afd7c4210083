package callstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/tree"
)

// Expected is a conversation that joining calls must give which nothing assigns to attempts.
type Expected struct {
	Calls     []*Logged // in order of time
	Ambiguous bool      // it is one call, whose answer several conversations gave and some call continues
	Gap       bool      // it begins after calls that the log lacks
	Foreign   bool      // calls of several attempts are in it: an attempt asked what follows an answer of another one
}

// Row is the trajectory.
func (x *Expected) Row() formats.Trajectory { return Replay(x.Calls) }

// Expect returns the conversations of a log that has some of the calls of recorded attempts. It looks
// at the recorded trees: what a call continues, and whose beginnings and answers are equal.
func Expect(recorded []*Recorded, log []*Logged) (out []*Expected) {
	x := expecting{known: map[key][]*node{}, asked: map[key]bool{}, keys: map[*node]key{}, in: map[string]*Expected{}, logged: map[string]*Logged{}}
	for _, l := range log {
		x.logged[l.Mark()] = l
	}
	var todo []asking
	for _, r := range recorded {
		for i, l := range r.Calls {
			if x.logged[l.Mark()] == nil {
				continue
			}
			text := IsText(&l.Row.Calls[0])
			x.asked[x.key(r.ends[i], text)] = true
			todo = append(todo, asking{Logged: l, ends: r.ends[i], length: len(r.ends[i].path()), text: text})
		}
		for _, n := range r.nodes {
			if l := x.logged[n.mark()]; n.Sampled && l != nil {
				k := x.key(n, IsText(&l.Row.Calls[0]))
				x.known[k] = append(x.known[k], n)
			}
		}
	}
	slices.SortStableFunc(todo, func(a, b asking) int { return cmp.Compare(a.length, b.length) })
	for _, a := range todo {
		at := x.place(&a)
		if at == nil {
			at = &Expected{Gap: a.gap}
			out = append(out, at)
		}
		at.Foreign = at.Foreign || len(at.Calls) > 0 && at.Calls[0].Attempt != a.Attempt
		at.Calls = append(at.Calls, a.Logged)
		x.in[a.Mark()] = at
	}
	for _, e := range out {
		slices.SortStableFunc(e.Calls, func(a, b *Logged) int { return cmp.Compare(a.Row.StartedAt, b.Row.StartedAt) })
	}
	return out
}

type expecting struct {
	known  map[key][]*node // answers of the log by what they are and follow
	asked  map[key]bool    // prompts
	keys   map[*node]key
	in     map[string]*Expected // where a call is, by its mark
	logged map[string]*Logged
}

// asking is a call that has no place yet.
type asking struct {
	*Logged
	ends   *node
	length int
	text   bool
	gap    bool
}

// place returns the conversation that a call goes on with, or nil if it begins one.
func (x *expecting) place(a *asking) *Expected {
	n := a.ends
	for ; n != nil && len(x.known[x.key(n, a.text)]) == 0; n = n.parent {
		if n.Role == "assistant" && !x.asked[x.key(n.parent, a.text)] {
			a.gap = true
		}
	}
	if n == nil {
		a.gap = false
		return nil
	}
	if a.gap {
		return nil
	}
	var in []*Expected
	for _, given := range x.known[x.key(n, a.text)] {
		if e := x.in[given.mark()]; !slices.Contains(in, e) {
			in = append(in, e)
		}
	}
	if len(in) == 1 {
		return in[0]
	}
	for _, e := range in {
		e.Ambiguous = true
	}
	return nil
}

func (n *node) mark() string { return (&Logged{Attempt: n.attempt, Index: int(n.Call)}).Mark() }

// key identifies a message together with all that is before it.
type key = xxh3.Uint128

func (x *expecting) key(n *node, text bool) key {
	if n == nil {
		return key{}
	}
	if k, known := x.keys[n]; known {
		return k
	}
	var what string
	if text {
		for _, m := range n.path() {
			what += m.Content + m.ContentParts
		}
		what = "text " + what
	} else {
		before := x.key(n.parent, text)
		what = fmt.Sprintf("%x %x %s", before.Hi, before.Lo, canonical(&n.Message))
	}
	x.keys[n] = xxh3.HashString128(what)
	return x.keys[n]
}

// canonical is what is left of a message that an agent may have changed when it sends it again.
func canonical(m *formats.Message) string {
	content := m.Content
	if m.ContentParts != "" {
		if content = m.ContentParts; tree.TextOnly(m.ContentParts) {
			content = chat.ContentText(m)
		}
	}
	if m.Role != "assistant" {
		return fmt.Sprintf("%q %q %q %q", m.Role, m.Name, m.ToolCallID, content)
	}
	out := fmt.Sprintf("%q %q", m.Role, strings.TrimSpace(chat.Thinking.ReplaceAllString(content, "")))
	for _, c := range m.ToolCalls {
		arguments := c.Arguments
		var v any
		if json.Unmarshal([]byte(arguments), &v) == nil {
			b, _ := json.Marshal(v)
			arguments = string(b)
		}
		out += fmt.Sprintf(" %q %q %q", c.ID, c.Name, arguments)
	}
	return out
}

// Cut returns the part of a recorded tree that some of its calls are, which begins at a root: its
// messages with their columns, but no reason for a branch where nothing is left to branch from.
func (r *Recorded) Cut(calls []*Logged) (t formats.Trajectory) {
	index := map[int32]int32{}
	keep := map[*node]bool{}
	for _, l := range calls {
		index[int32(l.Index)] = int32(len(index))
		for n := r.ends[l.Index]; n != nil; n = n.parent {
			keep[n] = true
		}
	}
	place := map[*node]int32{nil: -1}
	began := map[*node]bool{} // something follows this one
	given := map[*node]bool{} // an answer does
	for _, n := range r.nodes {
		call, there := index[n.Call]
		if there = there && n.Sampled; !there && !keep[n] {
			continue
		}
		m := n.Message
		m.Parent = place[n.parent]
		if n.aside && given[n.parent] {
			m.Branch = tree.BranchRetry
			if last := t.Messages[len(t.Messages)-1]; last.Call == call && last.Parent == m.Parent {
				m.Branch = tree.BranchChoice
			}
		}
		if m.Sampled {
			if m.Call = call; !given[n.parent] {
				m.Branch = ""
			} else if m.Branch == "" {
				m.Branch = tree.BranchRetry
			}
			given[n.parent] = true
		} else if !began[n.parent] {
			m.Branch = ""
		}
		began[n.parent] = true
		place[n] = int32(len(t.Messages))
		t.Messages = append(t.Messages, m)
	}
	for _, l := range calls {
		call := r.Row.Calls[l.Index]
		if call.Tools >= 0 {
			call.Tools = chat.AddToolSet(&t.ToolSets, r.Row.ToolSets[call.Tools])
		}
		t.Calls = append(t.Calls, call)
		if t.TokenSource == "" && call.Target {
			t.TokenSource = l.Row.TokenSource
		}
	}
	t.Messages, t.Candidates = tree.SplitAlternatives(t.Messages, t.Calls)
	t.SetTotals()
	return t
}
