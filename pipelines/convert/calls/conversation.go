package calls

import (
	"cmp"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// Conversation is the calls of one trajectory.
type Conversation struct {
	ID        string  // a digest of the calls' own, whatever their order
	Calls     []*Call // in order of time, each once
	Class     string  // why it is a failed row: a class of failures, or ""
	Gap       bool    // a call is missing before its first
	Resampled bool    // several answers to the first prompt of its attempt were continued
	Size      int     // bytes, at most

	train bool // auxiliary calls too
}

// Prompt returns how many messages the prompt of the first call has, which are the first of the trajectory.
func (c *Conversation) Prompt() int {
	prompt, _ := c.Calls[0].split()
	return len(prompt)
}

// builder builds a trajectory as the recorder does: prompts are added when calls begin, answers when they end.
type builder struct {
	of    *Conversation
	tree  tree.Tree
	row   formats.Trajectory
	clock int
	paths []tree.Path // of the calls that began
	began []int       // by clock
	open  []int       // calls that have not ended
	last  int         // the call that ended last

	said map[place]string // fields of messages, in the metadata
}

// Item builds the trajectory. differ names what its calls contradict each other in.
func (c *Conversation) Item() (item importers.Item, differ []string, err error) {
	b := builder{of: c}
	for k, call := range c.Calls {
		b.endUntil(call.meta.Began)
		if parent := call.meta.Parent - 1; slices.Contains(b.open, parent) { // whatever its time: its answer is known
			b.end(parent)
		}
		b.begin(call)
		b.open = append(b.open, k)
	}
	b.endUntil(math.MaxInt64)
	return b.item()
}

// endUntil ends the calls that end at a time or before it.
func (b *builder) endUntil(at int64) {
	ended := func(k int) int64 { return max(b.of.Calls[k].Item.Row.FinishedAt, b.of.Calls[k].meta.Began) }
	for len(b.open) > 0 {
		next := slices.MinFunc(b.open, func(x, y int) int { return cmp.Compare(ended(x), ended(y)) })
		if ended(next) > at {
			return
		}
		b.end(next)
	}
}

func (b *builder) begin(c *Call) {
	t := &c.Item.Row
	prompt, _ := c.split()
	b.clock++
	b.began = append(b.began, b.clock)
	api := jsontext.ParseObject([]byte(t.Calls[0].Sampling)).Get("api")
	if len(prompt) == 1 && string(api) == `"completions"` { // text without roles
		b.paths = append(b.paths, b.tree.WalkText(prompt[0]))
	} else {
		b.tree.Restore(prompt, nil)
		b.paths = append(b.paths, b.tree.Walk(tree.Path{At: -1}, prompt))
	}
	call := t.Calls[0]
	call.Tools = chat.AddToolSet(&b.row.ToolSets, chat.ToolSet(t, call.Tools))
	call.Attempts = max(call.Attempts, int32(c.meta.Tries))
	b.row.Calls = append(b.row.Calls, call)
}

// end ends an open call.
func (b *builder) end(k int) {
	b.open = slices.DeleteFunc(b.open, func(open int) bool { return open == k })
	b.clock++
	b.last = k
	c := b.of.Calls[k]
	if _, choices := c.split(); len(choices) > 0 {
		b.tree.AddAnswer(b.paths[k], k, choices[0].PromptDeltaIDs, choices,
			tree.Span{Began: float64(b.began[k]), Ended: float64(b.clock)})
	}
	if b.row.TokenSource == "" && b.row.Calls[k].Target {
		b.row.TokenSource = c.Item.Row.TokenSource
	}
}

// item makes the row of what was added.
func (b *builder) item() (item importers.Item, differ []string, err error) {
	first := &b.of.Calls[0].Item
	item = importers.Item{NumberID: first.NumberID, Epoch: first.Epoch, Attempt: first.Attempt}
	t := &item.Row
	*t = b.row
	if !b.of.train {
		ends := make([]int, len(b.paths))
		for k, path := range b.paths {
			ends[k] = path.At
		}
		tree.SkipAuxiliary(b.tree.Messages, t.Calls, ends)
	}
	index := b.indexes(t)
	t.Messages, t.Candidates = tree.SplitAlternatives(b.tree.Messages, t.Calls)
	differ = b.agree(t)
	t.Metadata = b.metadata(t, index)
	var times importers.Times
	for k, c := range b.of.Calls {
		times.Add(c.Item.Row.StartedAt)
		times.Add(c.Item.Row.FinishedAt)
		t.Artifacts = append(t.Artifacts, c.Item.Row.Artifacts...)
		b.answer(t, k)
		if call := &t.Calls[k]; call.Target && call.Error == "" {
			t.Model = call.Model
		}
	}
	t.StartedAt, t.FinishedAt = times.Began, times.Done
	b.conclude(t)
	return item, differ, importers.Finish(&item)
}

// indexes returns where each message of the tree is in the row; -1 for those that become candidates.
func (b *builder) indexes(t *formats.Trajectory) []int {
	index, n, aside := make([]int, len(b.tree.Messages)), 0, tree.Unchosen(b.tree.Messages, t.Calls)
	for i := range index {
		if _, is := aside[i]; is {
			index[i] = -1
			continue
		}
		index[i] = n
		n++
	}
	return index
}

// answer adds what belongs to the answer of a call, and is not in its message.
func (b *builder) answer(t *formats.Trajectory, k int) {
	row := &b.of.Calls[k].Item.Row
	at := slices.IndexFunc(t.Messages, func(m formats.Message) bool { return m.Sampled && int(m.Call) == k })
	if len(row.Losses)+len(row.Candidates) == 0 || at < 0 {
		return
	}
	for _, l := range row.Losses {
		l.Message = int32(at)
		t.Losses = append(t.Losses, l)
	}
	for _, x := range row.Candidates {
		x.Message, x.Call = int32(at), new(int32(k))
		t.Candidates = append(t.Candidates, x)
	}
}

// conclude sets how the trajectory ended: as its last call did.
func (b *builder) conclude(t *formats.Trajectory) {
	c := b.of.Calls[b.last]
	row := &c.Item.Row
	switch call := &t.Calls[b.last]; {
	case b.of.Class != "" && c.meta.Flags&contradicts != 0:
		importers.Fail(t, b.of.Class, "the log has several different answers under its id")
	case b.of.Class != "":
		importers.Fail(t, b.of.Class,
			"several attempts got this answer to this prompt, and the log does not say which of them went on")
	case row.Status == outcomes.StatusFailed:
		importers.Fail(t, cmp.Or(row.FailureClass, outcomes.FailEngine), cmp.Or(row.Error, call.Error))
	case call.Error != "":
		importers.Fail(t, outcomes.FailEngine, call.Error)
	default:
		t.Status, t.StopReason = row.Status, row.StopReason
	}
}
