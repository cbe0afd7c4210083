package callstest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// Recorded is an attempt that the recorder recorded, and its calls as a log has them.
type Recorded struct {
	Attempt string
	Row     formats.Trajectory
	Calls   []*Logged

	nodes []*node // its messages, and the answers that were put aside where they belong
	ends  []*node // of each call's prompt; nil for none
	first map[*node]int
}

// node is a message of the recorded tree.
type node struct {
	attempt string
	formats.Message
	parent *node
	aside  bool // it is a candidate of the row
}

// path returns the nodes from the root to n.
func (n *node) path() (out []*node) {
	for ; n != nil; n = n.parent {
		out = append(out, n)
	}
	slices.Reverse(out)
	return out
}

// answer returns the nearest node at or above n that was sampled.
func (n *node) answer() *node {
	for n != nil && !n.Sampled {
		n = n.parent
	}
	return n
}

// Explode makes a row of each call of a recorded trajectory. The calls begin and end in an order that
// explains the row: answers that the row says were given in parallel overlap, and retries do not. The
// times are microseconds from base on. What the row does not have is chosen: a call without an answer
// asked a prompt that nobody answered, if there is one, else that of the next call. An error says why
// no order of its calls gives the row.
func Explode(attempt string, t *formats.Trajectory, base int64) (*Recorded, error) {
	t = withoutPassing(t)
	r := &Recorded{Attempt: attempt, Row: *t, ends: make([]*node, len(t.Calls)), first: map[*node]int{}}
	r.Row.Candidates = ofRecorder(t.Candidates)
	if len(r.Row.Candidates) == 0 { // of a run that trains all answers
		r.Row.Messages, r.Row.Candidates = tree.SplitAlternatives(t.Messages, t.Calls)
	}
	r.grow()
	if err := r.ask(); err != nil {
		return nil, err
	}
	for i := range t.Calls {
		r.Calls = append(r.Calls, r.logged(i))
	}
	for k, e := range r.order() {
		row := &r.Calls[e.index].Row
		if e.ends {
			row.FinishedAt = base + int64(k)
		} else {
			row.StartedAt = base + int64(k)
		}
	}
	again := Replay(r.Calls, true)
	r.Row.SetTotals()
	if d := Difference(&again, &r.Row); d != "" {
		return nil, fmt.Errorf("its calls do not give it again: %s\nagain:\n%srecorded:\n%s", d, Outline(&again), Outline(&r.Row))
	}
	return r, nil
}

// withoutPassing returns a trajectory without the calls that asked no model to answer, such as those that
// count tokens: they have neither an answer nor an error.
func withoutPassing(t *formats.Trajectory) *formats.Trajectory {
	asked := make([]bool, len(t.Calls))
	for i := range t.Calls {
		asked[i] = t.Calls[i].Error != ""
	}
	for _, m := range t.Messages {
		if m.Sampled {
			asked[m.Call] = true
		}
	}
	for _, c := range ofRecorder(t.Candidates) {
		asked[*c.Call] = true
	}
	if !slices.Contains(asked, false) {
		return t
	}
	out := *t
	out.Calls, out.Messages, out.Candidates = nil, slices.Clone(t.Messages), ofRecorder(t.Candidates)
	index := make([]int32, len(asked))
	for i, call := range t.Calls {
		if index[i] = int32(len(out.Calls)); asked[i] {
			out.Calls = append(out.Calls, call)
		}
	}
	for i := range out.Messages {
		if m := &out.Messages[i]; m.Sampled {
			m.Call = index[m.Call]
		}
	}
	for i := range out.Candidates {
		out.Candidates[i].Call = new(index[*out.Candidates[i].Call])
	}
	return &out
}

// ofRecorder returns the candidates that the recorder put aside, and not those of the agent.
func ofRecorder(all []formats.Candidate) (out []formats.Candidate) {
	for _, c := range all {
		if c.Call != nil && (c.Reason == outcomes.CandidateAlternative || c.Reason == outcomes.CandidateRetried) {
			out = append(out, c)
		}
	}
	return out
}

// grow makes the nodes: the messages, and where their calls ended the answers that were put aside.
func (r *Recorded) grow() {
	byIndex := make([]*node, len(r.Row.Messages))
	for i, m := range r.Row.Messages {
		n := &node{attempt: r.Attempt, Message: m}
		if m.Parent >= 0 {
			n.parent = byIndex[m.Parent]
		}
		if m.Sampled {
			r.ends[m.Call] = n.parent
		}
		byIndex[i] = n
		r.nodes = append(r.nodes, n)
	}
	var aside []*node
	for _, c := range r.Row.Candidates {
		chosen := byIndex[c.Message]
		m := formats.Message{Role: "assistant", Content: c.Content, Reasoning: c.Reasoning, ToolCalls: c.ToolCalls, FinishReason: c.FinishReason, Sampled: true,
			Call: *c.Call, Parent: chosen.Message.Parent, TokenIDs: c.TokenIDs, Logprobs: c.Logprobs, TokenTexts: c.TokenTexts}
		m.PromptDeltaIDs, m.PrefixBreak = chosen.PromptDeltaIDs, chosen.PrefixBreak // of the same prompt
		n := &node{attempt: r.Attempt, parent: chosen.parent, aside: true, Message: m}
		if parts := jsontext.ParseObject([]byte(c.Metadata)).Get("content_parts"); parts != nil {
			n.ContentParts, n.Content = string(parts), ""
		}
		r.ends[n.Call] = n.parent
		aside = append(aside, n)
	}
	r.note()
	at := 0
	for _, n := range aside {
		at = r.insert(n, at)
	}
}

// insert puts an answer back: beside the other choices of its call, else at the earliest after a place,
// before what later calls added.
func (r *Recorded) insert(n *node, from int) (next int) {
	at := slices.IndexFunc(r.nodes, func(other *node) bool { return other.Sampled && other.Call == n.Call })
	if at < 0 {
		for at = max(from, slices.Index(r.nodes, n.parent)+1); at < len(r.nodes); at++ {
			if owner, known := r.owner(r.nodes[at]); known && owner > int(n.Call) {
				break
			}
		}
	}
	for at < len(r.nodes) {
		other := r.nodes[at]
		if !other.Sampled || other.Call != n.Call || other.Branch == tree.BranchChoice || r.isSame(other, n) {
			break
		}
		at++
	}
	r.nodes = slices.Insert(r.nodes, at, n)
	return at + 1
}

// isSame reports whether the same answer was continued, as prompts continue the last of those.
func (r *Recorded) isSame(kept, n *node) bool {
	return canonical(&kept.Message) == canonical(&n.Message) && plain(&kept.Message) == plain(&n.Message) &&
		slices.ContainsFunc(r.nodes, func(x *node) bool { return x.parent == kept })
}

// owner returns the call that added a message to the tree.
func (r *Recorded) owner(n *node) (call int, known bool) {
	if n.Sampled {
		return int(n.Call), true
	}
	call, known = r.first[n]
	return call, known
}

// note finds the first call that asked each message.
func (r *Recorded) note() {
	clear(r.first)
	for i := len(r.ends) - 1; i >= 0; i-- {
		for n := r.ends[i]; n != nil; n = n.parent {
			if !n.Sampled {
				r.first[n] = i
			}
		}
	}
}

// ask gives the calls without an answer their prompts.
func (r *Recorded) ask() error {
	inner := map[*node]bool{}
	for _, n := range r.nodes {
		inner[n.parent] = true
	}
	answered, latest := slices.Clone(r.ends), -1
	for _, n := range r.nodes {
		if first, known := r.first[n]; known {
			latest = max(latest, first)
		} else if !n.Sampled && !inner[n] {
			at := -1
			for i := range r.ends {
				if r.ends[i] == nil && (at < 0 || at <= latest) {
					at = i
				}
			}
			if at < 0 {
				return fmt.Errorf("no call asked message %.60q", n.Content)
			}
			r.ends[at] = n
		}
	}
	for i := range r.ends {
		if r.ends[i] != nil {
			continue
		}
		next := slices.IndexFunc(answered[i:], func(n *node) bool { return n != nil })
		if next >= 0 {
			r.ends[i] = answered[i+next]
		} else if i > 0 {
			r.ends[i] = r.ends[i-1]
		} else {
			return fmt.Errorf("call %d asked no message that is known", i)
		}
	}
	r.note()
	return nil
}

// order returns when the calls begin and end.
func (r *Recorded) order() (out []event) {
	before := map[int32]int{} // the call that began before a call ended
	var begun int
	begin := func(upTo int) {
		for ; begun <= upTo; begun++ {
			out = append(out, event{index: begun})
			if !r.answered(begun) {
				out = append(out, event{index: begun, ends: true})
			}
		}
	}
	for i, n := range r.nodes {
		if !n.Sampled || n.Branch != tree.BranchParallel {
			continue
		}
		for k := i - 1; k >= 0; k-- {
			if other := r.nodes[k]; other.Sampled && other.parent == n.parent {
				before[other.Call] = max(before[other.Call], int(n.Call))
				break
			}
		}
	}
	ended := map[int32]bool{}
	for _, n := range r.nodes {
		if !n.Sampled {
			begin(r.first[n])
		} else if begin(max(int(n.Call), before[n.Call])); !ended[n.Call] {
			ended[n.Call] = true
			out = append(out, event{index: int(n.Call), ends: true})
		}
	}
	begin(len(r.ends) - 1)
	return out
}

func (r *Recorded) answered(call int) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return n.Sampled && int(n.Call) == call })
}

// logged makes the row of a call.
func (r *Recorded) logged(index int) *Logged {
	l := &Logged{Attempt: r.Attempt, Index: index}
	t, call := &l.Row, r.Row.Calls[index]
	t.TrajectoryID = l.Mark()
	if call.Tools >= 0 {
		t.ToolSets, call.Tools = []string{r.Row.ToolSets[call.Tools]}, 0
	}
	t.Calls = []formats.Call{call}
	var cause string
	var answers []*node
	for _, n := range r.nodes {
		if n.Sampled && int(n.Call) == index {
			answers, cause = append(answers, n), n.PrefixBreak
		}
	}
	for _, n := range r.ends[index].path() {
		m := Sent(n.Message)
		if n.Sampled {
			m = changed(m, cause)
		}
		t.Messages = append(t.Messages, m)
	}
	if IsText(&call) {
		t.Messages = joined(t.Messages)
	}
	for i := range t.Messages {
		t.Messages[i].Parent = int32(i) - 1
	}
	end := len(t.Messages) - 1
	for k, n := range answers {
		m := n.Message
		m.PromptDeltaIDs = chat.PromptIDs(r.Row.Messages, int(m.Parent), &m)
		m.Parent, m.Call, m.PrefixBreak, m.Branch = int32(end), 0, "", map[bool]string{true: tree.BranchChoice}[k > 0]
		if call.Target {
			t.TokenSource = r.Row.TokenSource
		}
		t.Messages = append(t.Messages, m)
	}
	l.parent = r.ends[index].answer()
	if call.Error != "" || len(answers) == 0 {
		importers.Fail(t, outcomes.FailEngine, call.Error)
	}
	return l
}

// Sent is a message as an agent sends it in a prompt.
func Sent(m formats.Message) formats.Message {
	return formats.Message{Role: m.Role, Content: m.Content, ContentParts: m.ContentParts, Name: m.Name, Reasoning: m.Reasoning,
		ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls, Call: -1}
}

// changed is an earlier answer as an agent sends it whose prompts break for a cause.
func changed(m formats.Message, cause string) formats.Message {
	switch cause {
	case tree.BreakContent:
		if m.ContentParts == "" {
			m.Content += " "
		}
	case tree.BreakReasoning:
		m.Reasoning = ""
		m.Content = strings.TrimSpace(chat.Thinking.ReplaceAllString(m.Content, ""))
	}
	return m
}

// joined is a prompt without roles, which is one message.
func joined(prompt []formats.Message) []formats.Message {
	text := ""
	for _, m := range prompt {
		if m.ContentParts != "" {
			return prompt
		}
		text += m.Content
	}
	m := prompt[0]
	m.Content = text
	return []formats.Message{m}
}
