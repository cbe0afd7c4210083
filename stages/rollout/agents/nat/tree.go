package nat

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/nat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

type builder struct {
	agents.Setup
	t      formats.Trajectory
	tree   tree.Tree
	ids    map[string]int  // the framework's ids of sampled messages
	failed *agents.Failure // what is wrong with a target call's logprobs
}

// latency returns the time between a call's events, in milliseconds; 0 if the
// server's clock was set back or its times are invalid.
func latency(start, end float64) int64 {
	const maxLatency = 1e12 // ms: 30 years
	return int64(math.Round(max(0, min((end-start)*1000, maxLatency))))
}

// add adds a call to the row, and its prompt and answer to the tree.
func (b *builder) add(c *nat.Call) {
	if c.End == nil {
		return // it was not answered, or its end was not sent
	}
	m, id, model, logprobs := c.Answered()
	path := b.place(c.Prompt())
	record := formats.Call{Model: model, Sampling: "{}", Tools: chat.AddToolSet(&b.t.ToolSets, c.Tools()), Function: c.Function, Attempts: 1,
		PromptTokens: c.End.Prompt, CompletionTokens: c.End.Completion, CachedTokens: c.End.Cached}
	record.Target = b.targets(c, model)
	when := tree.Span{Began: math.Inf(1), Ended: c.End.Time} // without a start, no earlier call overlaps it
	if c.Start != nil {
		when.Began = c.Start.Time
		record.LatencyMS = latency(c.Start.Time, c.End.Time)
	}
	m.Call = int32(len(b.t.Calls))
	fault := tokens(&m, logprobs, record.CompletionTokens)
	if record.Target && fault != nil && b.failed == nil && !(b.NoLogprobs && fault.Class == outcomes.FailNoLogprobs) {
		b.failed = fault
	}
	b.t.Calls = append(b.t.Calls, record)
	at := b.tree.AddSampled(path, m, 0, when)
	if id != "" {
		b.ids[id] = at
	}
}

// place returns the path of a prompt, after adding the missing messages.
func (b *builder) place(prompt []formats.Message, ids []string) tree.Path {
	p := tree.Path{At: -1}
	for i := range prompt {
		b.complete(p.At, ids[i], &prompt[i])
		p = b.tree.Walk(p, prompt[i:i+1])
	}
	return p
}

// complete gives a sampled message the tool calls that its LLM_END did not
// have, from the prompt in which it comes back after the same messages.
func (b *builder) complete(parent int, id string, m *formats.Message) {
	at, known := b.ids[id]
	if id == "" || !known {
		return
	}
	if sampled := &b.tree.Messages[at]; int(sampled.Parent) == parent && len(sampled.ToolCalls) == 0 {
		sampled.ToolCalls = m.ToolCalls
	}
}

// same reports whether a message of a prompt is a known one: an answer comes
// back without its reasoning, and with its arguments rewritten.
func same(known, m *formats.Message) bool {
	return known.Role == m.Role && known.Content == m.Content && known.ContentParts == m.ContentParts &&
		known.ToolCallID == m.ToolCallID && slices.EqualFunc(known.ToolCalls, m.ToolCalls, tree.SameCall)
}

func (b *builder) targets(c *nat.Call, model string) bool {
	if b.TargetModel != "" && b.TargetModel != model && b.TargetModel != c.End.Name {
		return false
	}
	return len(b.Functions) == 0 || slices.Contains(b.Functions, c.Function) || slices.Contains(b.Functions, c.Alias)
}

// tokens gives a sampled message its logprobs and, if the entries have them,
// token ids; otherwise it returns the fault.
func tokens(m *formats.Message, logprobs json.RawMessage, completion int32) *agents.Failure {
	var l struct {
		Content []struct {
			Token   string
			ID      *int32
			Logprob *float64
		}
	}
	if json.Unmarshal(logprobs, &l); len(l.Content) == 0 {
		return agents.Failf(outcomes.FailNoLogprobs,
			"the workflow's steps carry no logprobs: set logprobs: true in the workflow's configuration of the model")
	}
	if completion > 0 && int(completion) != len(l.Content) {
		return agents.Failf(outcomes.FailLogprobMismatch, "an answer of %d tokens has %d logprobs", completion,
			len(l.Content))
	}
	var ids []int32
	for i, e := range l.Content {
		if e.Logprob == nil || math.IsNaN(*e.Logprob) || *e.Logprob > 0 {
			m.Logprobs = nil
			return agents.Failf(outcomes.FailBadLogprobs, "logprob %d of an answer is not a number", i)
		}
		m.Logprobs = append(m.Logprobs, float32(*e.Logprob))
		if id, ok := tokenID(e.Token, e.ID); ok && len(ids) == i {
			ids = append(ids, id)
		}
	}
	if len(ids) == len(l.Content) {
		m.TokenIDs = ids
	}
	return nil
}

// tokenID returns the id in an entry: vLLM's token_id:N, or a field.
func tokenID(token string, id *int32) (int32, bool) {
	if n, ok := strings.CutPrefix(token, "token_id:"); ok {
		v, err := strconv.ParseInt(n, 10, 32)
		return int32(v), err == nil
	}
	if id != nil {
		return *id, true
	}
	return 0, false
}
