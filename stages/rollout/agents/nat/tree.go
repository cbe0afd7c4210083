package nat

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// builder builds a row from the calls of one attempt.
type builder struct {
	t         formats.Trajectory
	model     string   // the target, "" for any
	functions []string // the targets, none for any
	failed    string   // the class of what is wrong with a target call's logprobs
	error     string
	loose     bool // logprobs are not needed
	accept    []string
	ends      []float64
	ids       map[string]int32 // the framework's ids of sampled messages
}

// latency returns the time between a call's events, in milliseconds; 0 if the
// server's clock was set back or its times are invalid.
func latency(start, end float64) int64 {
	const most = 1e12 // 30 years
	return int64(math.Round(max(0, min((end-start)*1000, most))))
}

// add adds a call to the tree: if its prompt continues a path it extends the
// path, else it branches where the prompts differ.
func (b *builder) add(c *call) {
	if c.end == nil {
		return // it was not answered, or its end was not sent
	}
	m, id, model, logprobs := c.answered()
	parent := b.place(c.prompt())
	record := formats.Call{Model: model, Sampling: "{}", Tools: b.toolSet(c), Function: c.function, Attempts: 1,
		PromptTokens: c.end.prompt, CompletionTokens: c.end.completion, CachedTokens: c.end.cached}
	record.Target = b.targets(c, model)
	if c.start != nil {
		record.LatencyMS = latency(c.start.time, c.end.time)
	}
	m.Parent, m.Call = parent, int32(len(b.t.Calls))
	m.Branch = b.again(c, parent)
	b.ends = append(b.ends, c.end.time)
	class, text := tokens(&m, logprobs, record.CompletionTokens)
	if record.Target && class != "" && b.failed == "" && !(b.loose && class == formats.FailNoLogprobs) {
		b.failed, b.error = class, text
	}
	if id != "" {
		b.ids[id] = int32(len(b.t.Messages))
	}
	b.t.Calls = append(b.t.Calls, record)
	b.t.Messages = append(b.t.Messages, m)
}

// place returns the index of a prompt's last message, after adding the missing
// messages.
func (b *builder) place(prompt []formats.Message, ids []string) int32 {
	at := int32(-1)
	for i, m := range prompt {
		b.complete(at, ids[i], &m)
		next := b.child(at, &m)
		if next < 0 {
			m.Parent = at
			switch {
			case at < 0 && len(b.t.Messages) > 0:
				m.Branch = recorder.BranchSubagent
			case b.continued(at):
				m.Branch = recorder.BranchHistory
			}
			next = int32(len(b.t.Messages))
			b.t.Messages = append(b.t.Messages, m)
		}
		at = next
	}
	return at
}

// complete gives a sampled message the tool calls that its LLM_END did not
// have, from the prompt in which it comes back after the same messages.
func (b *builder) complete(parent int32, id string, m *formats.Message) {
	at, known := b.ids[id]
	if id == "" || !known || b.t.Messages[at].Parent != parent {
		return
	}
	if said := &b.t.Messages[at]; len(said.ToolCalls) == 0 {
		said.ToolCalls = m.ToolCalls
	}
}

// again returns why an answer is not the first to its prompt: the prompt was
// asked again, or while the first was being answered.
func (b *builder) again(c *call, parent int32) string {
	for i := range b.t.Messages {
		if o := &b.t.Messages[i]; o.Parent == parent && o.Sampled {
			if c.start != nil && c.start.time < b.ends[o.Call] {
				return recorder.BranchParallel
			}
			return recorder.BranchRetry
		}
	}
	return ""
}

// child returns the message after another with the same content as m, or -1.
func (b *builder) child(parent int32, m *formats.Message) int32 {
	for i := range b.t.Messages {
		if o := &b.t.Messages[i]; o.Parent == parent && same(o, m) {
			return int32(i)
		}
	}
	return -1
}

func (b *builder) continued(parent int32) bool {
	for i := range b.t.Messages {
		if b.t.Messages[i].Parent == parent {
			return true
		}
	}
	return false
}

// same reports whether a message of a prompt is an existing one: an answer
// comes back without its reasoning, and with its arguments written anew.
func same(a, m *formats.Message) bool {
	if a.Role != m.Role || a.Content != m.Content || a.ContentParts != m.ContentParts || a.ToolCallID != m.ToolCallID || len(a.ToolCalls) != len(m.ToolCalls) {
		return false
	}
	for i := range a.ToolCalls {
		x, y := a.ToolCalls[i], m.ToolCalls[i]
		if x.ID != y.ID || x.Name != y.Name || !sameJSON(x.Arguments, y.Arguments) {
			return false
		}
	}
	return true
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}

func (b *builder) targets(c *call, model string) bool {
	if b.model != "" && b.model != model && b.model != c.end.name {
		return false
	}
	if len(b.functions) == 0 {
		return true
	}
	for _, f := range b.functions {
		if f == c.function || f == c.alias {
			return true
		}
	}
	return false
}

// toolSet returns the index of the call's tool definitions among the row's.
func (b *builder) toolSet(c *call) int32 {
	if c.start == nil || empty(c.start.tools) || string(c.start.tools) == "[]" {
		return -1
	}
	set := strings.ReplaceAll(string(c.start.tools), `"type_":`, `"type":`) // NAT writes its own name of the field
	for i, known := range b.t.ToolSets {
		if known == set {
			return int32(i)
		}
	}
	b.t.ToolSets = append(b.t.ToolSets, set)
	return int32(len(b.t.ToolSets) - 1)
}

// tokens gives a sampled message its logprobs and, if the entries have them,
// token ids; otherwise it returns the class and the text of the fault.
func tokens(m *formats.Message, logprobs json.RawMessage, completion int32) (class, text string) {
	var l struct {
		Content []struct {
			Token   string
			ID      *int32
			Logprob *float64
		}
	}
	if json.Unmarshal(logprobs, &l); len(l.Content) == 0 {
		return formats.FailNoLogprobs, "the workflow's steps carry no logprobs: set logprobs: true in the workflow's configuration of the model"
	}
	if completion > 0 && int(completion) != len(l.Content) {
		return formats.FailLogprobMismatch, "an answer of " + strconv.Itoa(int(completion)) + " tokens has " + strconv.Itoa(len(l.Content)) + " logprobs"
	}
	var ids []int32
	for i, e := range l.Content {
		if e.Logprob == nil || math.IsNaN(*e.Logprob) || *e.Logprob > 0 {
			m.Logprobs = nil
			return formats.FailBadLogprobs, "logprob " + strconv.Itoa(i) + " of an answer is none"
		}
		m.Logprobs = append(m.Logprobs, float32(*e.Logprob))
		if id, ok := tokenID(e.Token, e.ID); ok && len(ids) == i {
			ids = append(ids, id)
		}
	}
	if len(ids) == len(l.Content) {
		m.TokenIDs = ids
	}
	return "", ""
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

// candidate keeps a scored alternative, as NAT's test-time compute logs it.
func (b *builder) candidate(s *step) {
	content, _ := text(s.data.Output)
	more, _ := json.Marshal(map[string]any{"step": s.name, "input": s.data.Input, "turn_index": s.data.TurnIndex, "candidate_index": s.data.CandidateIndex})
	b.t.Candidates = append(b.t.Candidates, formats.Candidate{Message: -1, Turn: s.data.TurnID, Content: content, Score: s.data.Score, Metadata: string(more)})
}

// settle finds the message to which each turn's candidates were alternatives:
// the answer that one of them became.
func (b *builder) settle() {
	chosen := map[string]int32{}
	for _, c := range b.t.Candidates {
		for i := range b.t.Messages {
			if m := &b.t.Messages[i]; m.Sampled && m.Content == c.Content {
				if _, known := chosen[c.Turn]; !known {
					chosen[c.Turn] = int32(i)
				}
			}
		}
	}
	for i := range b.t.Candidates {
		if at, known := chosen[b.t.Candidates[i].Turn]; known {
			b.t.Candidates[i].Message = at
		}
	}
}
