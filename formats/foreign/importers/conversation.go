package importers

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Conversation builds the messages, calls and tool sets of a trajectory. Its zero value is empty.
type Conversation struct {
	Messages []formats.Message
	Calls    []formats.Call
	ToolSets []string

	at    int32 // 1 + the index of the message that the next one continues; 0 at the root
	tools int32 // 1 + the index of the tools on offer

	sets     map[string]int32  // 1 + the index of tools in ToolSets
	indexed  int               // how many messages are in places and followed
	places   map[place][]int32 // where messages are, in order
	followed []followed        // by 1 + the index of the message before
}

// Offer sets the tools that the following calls offer: a JSON array of definitions, "" for none.
func (c *Conversation) Offer(tools string) {
	if c.tools = 0; tools == "" {
		return
	}
	if c.sets == nil {
		c.sets = map[string]int32{}
	}
	if c.sets[tools] == 0 {
		c.ToolSets = append(c.ToolSets, tools)
		c.sets[tools] = int32(len(c.ToolSets))
	}
	c.tools = c.sets[tools]
}

// Continue sets the message after which the next one is added; -1 begins another root.
func (c *Conversation) Continue(message int) { c.at = int32(message) + 1 }

// Input adds a message that the model did not generate, and returns its index.
func (c *Conversation) Input(m formats.Message) int {
	m.Sampled, m.Call = false, -1
	return c.add(&m)
}

// Sampled adds a message of the model and the call that it answered; see Call.
func (c *Conversation) Sampled(m formats.Message, call formats.Call) int {
	c.Call(call)
	return c.Choice(m)
}

// Call adds a call, which Choice may answer; its Tools are set to the tools on offer. A call with
// Target false does not train.
func (c *Conversation) Call(call formats.Call) {
	call.Tools = c.tools - 1
	call.Sampling = cmp.Or(call.Sampling, "{}")
	c.Calls = append(c.Calls, call)
}

// Choice adds an answer to the last call.
func (c *Conversation) Choice(m formats.Message) int {
	m.Sampled, m.Call = true, int32(len(c.Calls))-1
	return c.add(&m)
}

func (c *Conversation) add(m *formats.Message) int {
	m.Parent = c.at - 1
	c.Messages = append(c.Messages, *m)
	c.at = int32(len(c.Messages))
	return len(c.Messages) - 1
}

func (c *Conversation) Into(row *formats.Trajectory) {
	row.Messages, row.Calls, row.ToolSets = c.Messages, c.Calls, c.ToolSets
}

// Last returns the message after which the next one is added; -1 for none.
func (c *Conversation) Last() int { return int(c.at) - 1 }

// Draft is a trajectory that is being read: its conversation, and what else the source
// says. Its zero value is empty.
type Draft struct {
	Conversation
	Candidates []formats.Candidate
	Meta       Metadata
	Source     string // token_source
	Times      Times
}

// Alternative adds another answer of the last call, to which that at an index was chosen.
func (d *Draft) Alternative(at int, m *formats.Message) {
	call := int32(len(d.Calls) - 1)
	d.Candidates = append(d.Candidates, formats.Candidate{Message: int32(at), Call: &call, Content: m.Content, Reason: outcomes.CandidateAlternative,
		Reasoning: m.Reasoning, ToolCalls: m.ToolCalls, FinishReason: m.FinishReason,
		TokenIDs: m.TokenIDs, Logprobs: m.Logprobs, TokenTexts: m.TokenTexts})
}

// Into sets the columns of a row.
func (d *Draft) Into(row *formats.Trajectory) {
	d.Conversation.Into(row)
	row.Candidates, row.TokenSource, row.Metadata = d.Candidates, d.Source, d.Meta.String()
	row.StartedAt, row.FinishedAt = d.Times.Began, d.Times.Done
}

// Times is when something began and when it was done, in microseconds since 1970; 0
// for unknown times.
type Times struct{ Began, Done int64 }

// Add extends the times to another one; 0 changes nothing.
func (t *Times) Add(micros int64) {
	if micros == 0 {
		return
	}
	if t.Began == 0 || micros < t.Began {
		t.Began = micros
	}
	t.Done = max(t.Done, micros)
}

// Why a message begins another branch (column messages.branch), as rollout's recorder names it.
const (
	BranchSubagent = "subagent" // another first message: a subagent, or a new conversation
	BranchHistory  = "history"  // earlier messages were changed or left out: compaction, edits, a step back
	BranchRetry    = "retry"    // the model was asked the same again
	BranchChoice   = "choice"   // another choice of one answer
)

// PromptDelta returns the columns prompt_delta_ids and prefix_break of a sampled
// message that is added next, given all ids of its prompt.
func (c *Conversation) PromptDelta(prompt []int32) (delta []int32, cause string) {
	return chat.PromptDelta(c.Messages, c.Last(), prompt, nil)
}
