package callstest

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/tree"
)

// Replay returns what the recorder writes of an attempt that makes these calls: each prompt enters the
// tree when its call begins, and each answer when it ends. Auxiliary calls train if train is set.
func Replay(calls []*Logged, train bool) formats.Trajectory {
	t, ends := replay(calls)
	if !train {
		tree.SkipAuxiliary(t.Messages, t.Calls, ends)
	}
	t.Messages, t.Candidates = tree.SplitAlternatives(t.Messages, t.Calls)
	t.SetTotals()
	return t
}

// Record returns the attempt that makes these calls, as the recorder writes it.
func Record(attempt string, calls []*Logged, train bool) *Recorded {
	whole, ends := replay(calls)
	r := &Recorded{Attempt: attempt, Row: Replay(calls, train), Calls: calls, first: map[*node]int{}}
	for _, m := range whole.Messages {
		n := &node{attempt: attempt, Message: m}
		if m.Parent >= 0 {
			n.parent = r.nodes[m.Parent]
		}
		r.nodes = append(r.nodes, n)
	}
	for i, end := range ends {
		r.ends = append(r.ends, r.nodes[end])
		calls[i].parent = r.ends[i].answer()
	}
	return r
}

type event struct {
	at    int64
	ends  bool
	index int
}

// replay is Replay before the answers that nobody continued are put aside. ends are the last messages of prompts.
func replay(calls []*Logged) (t formats.Trajectory, ends []int) {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b *Logged) int { return cmp.Compare(a.Row.StartedAt, b.Row.StartedAt) })
	var events []event
	for i, l := range calls {
		events = append(events, event{l.Row.StartedAt, false, i}, event{l.Row.FinishedAt, true, i})
		t.StartedAt, t.FinishedAt = calls[0].Row.StartedAt, max(t.FinishedAt, l.Row.FinishedAt)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var messages tree.Tree
	paths := make([]tree.Path, len(calls))
	for now, e := range events {
		row := &calls[e.index].Row
		prompt, answers := Asked(row)
		if !e.ends {
			call := row.Calls[len(row.Calls)-1]
			if call.Tools >= 0 {
				call.Tools = chat.AddToolSet(&t.ToolSets, row.ToolSets[call.Tools])
			}
			t.Calls = append(t.Calls, call)
			paths[e.index] = walk(&messages, &call, prompt)
			ends = append(ends, paths[e.index].At)
			events[now].at = int64(now)
			continue
		}
		began := slices.IndexFunc(events, func(b event) bool { return !b.ends && b.index == e.index })
		for k, m := range answers {
			m.Call, m.Branch = int32(e.index), ""
			m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(messages.Messages, paths[e.index].At, m.PromptDeltaIDs, paths[e.index].Changed)
			messages.AddSampled(paths[e.index], m, k, tree.Span{Began: float64(began), Ended: float64(now)})
		}
		if t.TokenSource == "" && t.Calls[e.index].Target && len(answers) > 0 {
			t.TokenSource = row.TokenSource
		}
	}
	t.Messages = messages.Messages
	return t, ends
}

func walk(t *tree.Tree, call *formats.Call, prompt []formats.Message) tree.Path {
	if IsText(call) && len(prompt) == 1 {
		return t.WalkText(prompt[0])
	}
	prompt = slices.Clone(prompt)
	t.Restore(prompt, nil)
	return t.Walk(tree.Path{At: -1}, prompt)
}

// IsText reports whether a call's prompt is text without roles.
func IsText(c *formats.Call) bool {
	return jsonMember(c.Sampling, "api") == "completions"
}

// Asked returns the prompt of a row that is one call, and its answers.
func Asked(row *formats.Trajectory) (prompt, answers []formats.Message) {
	at := slices.IndexFunc(row.Messages, func(m formats.Message) bool { return m.Sampled })
	if at < 0 {
		at = len(row.Messages)
	}
	return row.Messages[:at], row.Messages[at:]
}
