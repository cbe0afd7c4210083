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
	first     key
	doubt     map[key]bool
	Unsure    bool // the log lacks the answer that a call of it goes on with, and has an equal one, of another attempt or later
}

// unclear reports whether what a call goes on with depends on what an agent left out of earlier answers, in
// this conversation or one that begins alike.
func (e *Expected) unclear() bool { return e.doubt[e.first] }

// Row is the trajectory.
func (x *Expected) Row(train bool) formats.Trajectory { return Replay(x.Calls, train) }

// Expect returns the conversations of a log that has some of the calls of recorded attempts. It looks
// at the recorded trees: what a call continues, and whose beginnings and answers are equal. What agents
// may leave out of earlier answers distinguishes them if it is there. If loose, it never does: then as
// many calls are ambiguous as ever may be.
func Expect(recorded []*Recorded, log []*Logged, loose bool) (out []*Expected) {
	x, todo := expect(recorded, log)
	x.loose = loose
	x.doubt = x.doubts(todo)
	slices.SortStableFunc(todo, func(a, b asking) int { return cmp.Compare(a.length, b.length) })
	x.join(todo, nil)
	whole := x.in
	together := func(a *asking, said *node) bool { return whole[said.mark()] == whole[a.Mark()] }
	for _, e := range x.join(todo, together) {
		out = append(out, x.separate(e)...)
	}
	for _, e := range out {
		slices.SortStableFunc(e.Calls, func(a, b *Logged) int { return cmp.Compare(a.Row.StartedAt, b.Row.StartedAt) })
	}
	return out
}

// join places calls. same reports whether the conversation of a call counts an answer as its own.
func (x *expecting) join(todo []asking, same func(*asking, *node) bool) (out []*Expected) {
	x.same, x.in, x.parents, x.ambiguous = same, map[string]*Expected{}, map[string]string{}, map[string]bool{}
	for _, a := range todo {
		at := x.place(&a)
		if a.lacks != nil {
			at = x.after[*a.lacks]
		}
		if at == nil {
			at = &Expected{Gap: a.lacks != nil, first: x.beginning(a.ends), doubt: x.doubt}
			out = append(out, at)
		}
		if a.lacks != nil {
			x.after[*a.lacks] = at
		}
		at.Unsure = at.Unsure || a.late || len(at.Calls) > 0 && at.Calls[0].Attempt != a.Attempt
		at.Calls = append(at.Calls, a.Logged)
		x.in[a.Mark()] = at
	}
	return out
}

// lacksCalls reports whether an attempt seems to lack calls: its agent wrote an answer of its own, to a
// prompt that it did not ask, after one of the model.
func lacksCalls(r *Recorded, loose bool) bool {
	x, todo := expect([]*Recorded{r}, r.Calls)
	x.loose, x.same = loose, func(*asking, *node) bool { return true }
	return slices.ContainsFunc(todo, func(a asking) bool {
		n, lacks := x.longest(&a)
		return n != nil && lacks != nil
	})
}

// seemsLate reports whether an agent wrote an answer of its own to a prompt that it asked only later, and got
// just that answer: a clock that was wrong would look alike.
func seemsLate(r *Recorded) bool {
	x, todo := expect([]*Recorded{r}, r.Calls)
	x.loose = true
	return slices.ContainsFunc(todo, func(a asking) bool {
		return slices.ContainsFunc(a.ends.path(), func(n *node) bool { return !n.Sampled && len(x.givers(&a, n)) > 0 })
	})
}

// expect returns what is known of a log, and its calls.
func expect(recorded []*Recorded, log []*Logged) (x *expecting, todo []asking) {
	x = &expecting{known: map[key][]*node{}, asked: map[key][]*Logged{}, said: map[saying][]*node{}, after: map[missing]*Expected{},
		keys: map[*node]key{}, logged: map[string]*Logged{}}
	for _, l := range log {
		x.logged[l.Mark()] = l
	}
	for _, r := range recorded {
		for i, l := range r.Calls {
			if x.logged[l.Mark()] == nil {
				continue
			}
			text := IsText(&l.Row.Calls[0])
			k := x.key(r.ends[i], text)
			x.asked[k] = append(x.asked[k], l)
			todo = append(todo, asking{Logged: l, ends: r.ends[i], length: len(r.ends[i].path()), text: text})
		}
		for _, n := range r.nodes {
			if l := x.logged[n.mark()]; n.Sampled && l != nil {
				k := x.key(n, IsText(&l.Row.Calls[0]))
				x.known[k] = append(x.known[k], n)
				x.said[x.saying(n)] = append(x.said[x.saying(n)], n)
			}
		}
	}
	return x, todo
}

type expecting struct {
	loose bool
	same  func(*asking, *node) bool // whether the conversation of a call has an answer; nil: as if no call was missing
	known map[key][]*node           // answers of the log by what they are and follow
	asked map[key][]*Logged         // prompts
	said  map[saying][]*node        // answers, whatever they follow
	after map[missing]*Expected
	doubt map[key]bool // see doubts
	keys  map[*node]key
	in    map[string]*Expected // where a call is, by its mark

	ambiguous map[string]bool
	parents   map[string]string // the call whose answer a call continues
	logged    map[string]*Logged
}

// asking is a call that has no place yet.
type asking struct {
	*Logged
	ends   *node
	length int
	text   bool
	lacks  *missing
	late   bool // it began before any answer that it may go on with
}

// saying is an answer after any prompt with the same messages before the first of an assistant.
type saying struct {
	first key
	what  string
}

func (x *expecting) saying(n *node) saying { return saying{x.beginning(n), canonical(&n.Message)} }

// beginning returns the key of the messages before the first of an assistant.
func (x *expecting) beginning(n *node) key {
	path := n.path()
	if at := slices.IndexFunc(path, func(n *node) bool { return n.Role == "assistant" }); at >= 0 {
		n = path[at].parent
	}
	return x.key(n, false)
}

// doubts returns the beginnings of calls that go on with another answer if what agents leave out counts.
func (x *expecting) doubts(todo []asking) map[key]bool {
	out, loose := map[key]bool{}, *x
	loose.loose = true
	for i := range todo {
		a, _ := x.longest(&todo[i])
		if b, _ := loose.longest(&todo[i]); a != b {
			out[x.beginning(todo[i].ends)] = true
		}
	}
	return out
}

// wasAsked reports whether some call asked the beginning of a prompt up to a message.
func (x *expecting) wasAsked(a *asking, n *node) bool {
	prompt, _ := Asked(&a.Row)
	return slices.ContainsFunc(x.asked[x.key(n, a.text)], func(l *Logged) bool {
		other, _ := Asked(&l.Row)
		for i := range other {
			if !x.loose && (other[i].Reasoning != prompt[i].Reasoning || plain(&other[i]) != plain(&prompt[i])) {
				return false
			}
		}
		return true
	})
}

// wasSaid reports whether some call of its conversation gave the answer that an agent's message is.
func (x *expecting) wasSaid(a *asking, n *node) bool {
	prompt, _ := Asked(&a.Row)
	m := &prompt[len(n.path())-1]
	return slices.ContainsFunc(x.said[x.saying(n)], func(said *node) bool { return x.same(a, said) && isBack(&said.Message, m) })
}

// missing is an answer that no call of the log gave, after a conversation.
type missing struct {
	in *Expected
	at key
}

// longest returns the longest answer of the log with which a call's prompt begins, and the first answer
// after it that no call gave to a prompt that none asked.
func (x *expecting) longest(a *asking) (n *node, lacks *key) {
	for n = a.ends; n != nil && len(x.givers(a, n)) == 0; n = n.parent {
		if n.Role == "assistant" && n != a.ends && x.same != nil && !x.wasAsked(a, n.parent) && !x.wasSaid(a, n) {
			lacks = new(x.key(n, a.text))
		}
	}
	return n, lacks
}

// place returns the conversation that a call goes on with, or nil if it begins one.
func (x *expecting) place(a *asking) *Expected {
	n, lacks := x.longest(a)
	if n == nil {
		return nil
	}
	var in []*Expected
	for _, given := range x.givers(a, n) {
		if e := x.in[given.mark()]; !slices.Contains(in, e) {
			in = append(in, e)
		}
	}
	if lacks != nil && len(in) == 1 {
		a.lacks = &missing{in[0], *lacks}
		return nil
	}
	if len(in) == 1 {
		givers := x.givers(a, n)
		parent := givers[0].mark() // else the latest that had ended
		a.late = true
		for _, given := range givers {
			ended := x.logged[given.mark()].Row.FinishedAt
			if ended <= a.Row.StartedAt && (a.late || ended > x.logged[parent].Row.FinishedAt) {
				parent, a.late = given.mark(), false
			}
		}
		x.parents[a.Mark()] = parent
		return in[0]
	}
	for _, given := range x.givers(a, n) {
		x.ambiguous[given.mark()] = true
	}
	return nil
}

// separate makes each ambiguous call a conversation of its own, as well as those that go on with it.
func (x *expecting) separate(e *Expected) (out []*Expected) {
	if !slices.ContainsFunc(e.Calls, func(l *Logged) bool { return x.ambiguous[l.Mark()] }) {
		return []*Expected{e}
	}
	in := map[string]*Expected{}
	for _, l := range e.Calls { // each after what it continues
		parent := x.parents[l.Mark()]
		at := in[parent]
		if x.ambiguous[l.Mark()] || at == nil || x.ambiguous[parent] {
			at = &Expected{Ambiguous: x.ambiguous[l.Mark()], Gap: e.Gap && parent == "", Unsure: e.Unsure, first: e.first, doubt: e.doubt}
			out = append(out, at)
		}
		at.Calls = append(at.Calls, l)
		in[l.Mark()] = at
	}
	return out
}

// givers returns the answers that a call's prompt has at a message.
func (x *expecting) givers(a *asking, n *node) (out []*node) {
	prompt, _ := Asked(&a.Row)
	for _, given := range x.known[x.key(n, a.text)] {
		before, _ := Asked(&x.logged[given.mark()].Row)
		own := given.attempt == a.Attempt && given.parent == n.parent
		if x.loose || a.text || own && isBack(&given.Message, &prompt[len(before)]) || agree(before, given, prompt) {
			out = append(out, given)
		}
	}
	return out
}

// agree reports whether a prompt begins with another one as an agent sent it, and with its answer.
func agree(before []formats.Message, answer *node, prompt []formats.Message) bool {
	path := answer.path()
	for i := range before {
		a, b := &before[i], &prompt[i]
		same := chat.ContentText(a) == chat.ContentText(b)
		if a.Reasoning != b.Reasoning || !same && !(path[i].Sampled && plain(a) == plain(b)) {
			return false
		}
	}
	return isBack(&answer.Message, &prompt[len(before)])
}

// isBack reports whether a message of a prompt, which has the same key, may be one that was said.
func isBack(said, m *formats.Message) bool {
	left := m.Reasoning == "" && said.Sampled
	dropped := chat.ContentText(m) == "" && said.Sampled && len(said.ToolCalls) > 0
	return (m.Reasoning == said.Reasoning || left) && (plain(m) == plain(said) || dropped)
}

// plain is the text of a message without what agents leave out or add.
func plain(m *formats.Message) string {
	return strings.TrimSpace(chat.Thinking.ReplaceAllString(chat.ContentText(m), ""))
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
	if len(m.ToolCalls) > 0 {
		out = "calls"
	}
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
