package calls

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/formats/validate"
)

// Digest is 128 bits of a hash; zero for none.
type Digest struct{ Hi, Lo uint64 }

// Call is a row that is one request to a model with its answer, or without one if it failed.
type Call struct {
	Item importers.Item  // with one call, and its prompt before the choices, which are sampled
	By   string          // the value of the field that names its attempt; "" for none
	Own  Digest          // of its id, else of its times, request, answer and ResponseID: equal in all its copies and tries
	At   validate.Source // where it was read

	meta meta // what links it
}

// New returns the call that an item is. What its prompt repeats of earlier calls becomes input. An error says
// why the item is not a single call.
func New(item importers.Item, by string, at validate.Source) (*Call, error) {
	c := &Call{Item: item, By: by, At: at}
	c.Item.Whole = "" // it was for finding By
	if err := c.single(); err != nil {
		return nil, err
	}
	c.digest()
	return c, nil
}

// single makes a row that of its last call alone.
func (c *Call) single() error {
	t := &c.Item.Row
	switch {
	case len(t.Messages) == 0:
		return errors.New("it has no messages, and is no call")
	case c.Item.Pair != importers.Unpaired || c.Item.Label != nil:
		return errors.New("it is a preference or has a label, and is no single call")
	case len(t.ShapedRewards)+len(t.Advantages) > 0 || t.Advantage != nil:
		return errors.New("it has advantages or shaped rewards, which belong to a whole trajectory")
	}
	n := len(t.Messages) // of the prompt
	last := &t.Messages[n-1]
	call := formats.Call{Error: cmp.Or(t.Error, "the call failed"), Tools: -1, Sampling: "{}", Target: true}
	if last.Sampled {
		same := func(m *formats.Message) bool { return m.Sampled && m.Call == last.Call && m.Parent == last.Parent }
		for n > 0 && same(&t.Messages[n-1]) {
			n--
		}
		call = t.Calls[last.Call]
	} else if k := len(t.Calls) - 1; k >= 0 && t.Calls[k].Error != "" {
		call = t.Calls[k]
	} else if t.Status != outcomes.StatusFailed {
		return fmt.Errorf("it ends with a message of the %s, and neither an answer nor a failure follows", last.Role)
	}
	for i := range t.Messages[:min(n+1, len(t.Messages))] {
		if int(t.Messages[i].Parent) != i-1 {
			return fmt.Errorf("message %d does not follow the one before it: it is no single call with its prompt", i)
		}
	}
	answer := t.Messages[n:]
	if len(answer) > 0 {
		answer[0].PromptDeltaIDs, answer[0].PrefixBreak = chat.PromptIDs(t.Messages, n-1, &answer[0]), ""
	}
	for i := range t.Messages[:n] {
		m := &t.Messages[i]
		m.Sampled, m.Call, m.Branch, m.FinishReason, m.PrefixBreak = false, -1, "", "", ""
		m.TokenIDs, m.Logprobs, m.TokenTexts, m.PromptDeltaIDs = nil, nil, nil, nil
	}
	c.candidates(n, last.Call)
	for i := range t.Messages[n:] {
		t.Messages[n+i].Call = 0
	}
	if call.Error != "" && len(answer) > 0 { // as the recorder: what came of it was not taken
		t.Messages = t.Messages[:n]
	}
	c.tools(&call)
	t.Losses = slices.DeleteFunc(t.Losses, func(l training.MessageLoss) bool { return int(l.Message) != n })
	return nil
}

// tools leaves the call alone, with its tools.
func (c *Call) tools(call *formats.Call) {
	t := &c.Item.Row
	set := chat.ToolSet(t, call.Tools)
	t.ToolSets, call.Tools = nil, -1
	call.Tools = chat.AddToolSet(&t.ToolSets, set)
	if call.LatencyMS == 0 && t.StartedAt > 0 && t.FinishedAt > t.StartedAt {
		call.LatencyMS = (t.FinishedAt - t.StartedAt) / 1000
	}
	t.Calls = []formats.Call{*call}
}

// candidates makes choices of the call that a format keeps as candidates messages again.
func (c *Call) candidates(n int, call int32) {
	t := &c.Item.Row
	rest := t.Candidates[:0:0]
	for _, x := range t.Candidates {
		if x.Reason != outcomes.CandidateAlternative || n == len(t.Messages) || x.Call != nil && *x.Call != call {
			rest = append(rest, x)
			continue
		}
		m := t.Messages[n]
		m.Content, m.ContentParts, m.Reasoning = x.Content, "", x.Reasoning
		m.ToolCalls, m.FinishReason = x.ToolCalls, x.FinishReason
		m.TokenIDs, m.Logprobs, m.TokenTexts, m.Branch = x.TokenIDs, x.Logprobs, x.TokenTexts, tree.BranchChoice
		t.Messages = append(t.Messages[:len(t.Messages):len(t.Messages)], m)
	}
	t.Candidates = rest
}

// split returns the prompt and the choices of the answer.
func (c *Call) split() (prompt, choices []formats.Message) {
	list := c.Item.Row.Messages
	n := len(list)
	for n > 0 && list[n-1].Sampled {
		n--
	}
	return list[:n], list[n:]
}

// both returns the one call that two copies are: with the tokens of that which has them, and all else of the other.
func (c *Call) both(other *Call) *Call {
	if c.meta.Flags&exact == 0 {
		c, other = other, c
	}
	_, from := c.split()
	_, to := other.split()
	for i := range to {
		m, x := &to[i], &from[i]
		m.TokenIDs, m.Logprobs, m.TokenTexts, m.PromptDeltaIDs = x.TokenIDs, x.Logprobs, x.TokenTexts, x.PromptDeltaIDs
	}
	t := &other.Item.Row
	t.TokenSource = c.Item.Row.TokenSource
	meta := jsontext.ParseObject([]byte(t.Metadata))
	meta.Drop("no_tokens")
	t.Metadata = string(meta.Bytes())
	other.Own, other.meta = c.Own, c.meta
	return other
}

// digest sets what links the call, and what it is known by.
func (c *Call) digest() {
	t := &c.Item.Row
	prompt, choices := c.split()
	m := meta{Prompt: uint64(len(prompt)), Began: cmp.Or(t.StartedAt, t.FinishedAt)}
	m.Ended = max(t.FinishedAt, m.Began)
	var k tree.Keys
	var run []byte // keys
	content := spill.Key(nil, m.Prompt)
	end := func() {
		switch n := len(m.Steps); {
		case n == 0:
			m.First = Digest(xxh3.Hash128(run))
		case len(run) > 0:
			m.Steps[n-1].Between = xxh3.Hash(run)
		}
		run = run[:0]
	}
	for i := range prompt {
		of := k.Of(&prompt[i])
		content = spill.Key(content, of)
		if prompt[i].Role != "assistant" {
			run = spill.Key(run, of)
			continue
		}
		if end(); len(m.Steps) == 0 {
			m.Alike = []uint64{k.Alike(&prompt[i])}
		}
		m.Steps = append(m.Steps, step{Returned: k.Returned(&prompt[i]), Of: of})
	}
	end()
	for i := range choices {
		of := k.Of(&choices[i])
		content = spill.Key(content, of)
		m.Said = append(m.Said, k.Sampled([]uint64{of}, &choices[i]))
		if len(m.Steps) == 0 {
			m.Alike = append(m.Alike, k.Alike(&choices[i]))
		}
		m.Flags |= answered
		if choices[i].TokenIDs != nil {
			m.Flags |= exact
		}
	}
	call := &t.Calls[0]
	content = append(append(content, chat.ToolSet(t, call.Tools)...), call.Error...)
	m.Content = xxh3.Hash(content)
	if c.By != "" {
		m.By = Digest(xxh3.HashString128(c.By))
	}
	if m.Own = Digest(xxh3.HashString128(t.TrajectoryID)); t.TrajectoryID != "" {
		m.Flags |= known | named
	} else {
		content = append(spill.Key(content, uint64(t.StartedAt), uint64(t.FinishedAt)), c.Item.ResponseID...)
		m.Own = Digest(xxh3.Hash128(content))
		if m.Began != 0 || c.Item.ResponseID != "" {
			m.Flags |= known
		}
	}
	for i := range m.Alike {
		m.Alike[i] = mix(m.First.Hi, mix(m.First.Lo, m.Alike[i]))
	}
	c.Own, c.meta = m.Own, m
}
