package nat

import (
	"encoding/json"
	"math"
	"slices"
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
	tree      recorder.Tree
	ids       map[string]int // the framework's ids of sampled messages
}

// latency returns the time between a call's events, in milliseconds; 0 if the
// server's clock was set back or its times are invalid.
func latency(start, end float64) int64 {
	const most = 1e12 // 30 years
	return int64(math.Round(max(0, min((end-start)*1000, most))))
}

// add adds a call to the row, and its prompt and answer to the tree.
func (b *builder) add(c *call) {
	if c.end == nil {
		return // it was not answered, or its end was not sent
	}
	m, id, model, logprobs := c.answered()
	path := b.place(c.prompt())
	record := formats.Call{Model: model, Sampling: "{}", Tools: b.toolSet(c), Function: c.function, Attempts: 1,
		PromptTokens: c.end.prompt, CompletionTokens: c.end.completion, CachedTokens: c.end.cached}
	record.Target = b.targets(c, model)
	when := recorder.Span{Began: math.Inf(1), Ended: c.end.time} // without a start, no earlier call overlaps it
	if c.start != nil {
		when.Began = c.start.time
		record.LatencyMS = latency(c.start.time, c.end.time)
	}
	m.Call = int32(len(b.t.Calls))
	class, text := tokens(&m, logprobs, record.CompletionTokens)
	if record.Target && class != "" && b.failed == "" && !(b.loose && class == formats.FailNoLogprobs) {
		b.failed, b.error = class, text
	}
	b.t.Calls = append(b.t.Calls, record)
	at := b.tree.AddSampled(path, m, 0, when)
	if id != "" {
		b.ids[id] = at
	}
}

// place returns the path of a prompt, after adding the missing messages.
func (b *builder) place(prompt []formats.Message, ids []string) recorder.Path {
	p := recorder.Path{At: -1}
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
// back without its reasoning, and with its arguments written anew.
func same(known, m *formats.Message) bool {
	return known.Role == m.Role && known.Content == m.Content && known.ContentParts == m.ContentParts &&
		known.ToolCallID == m.ToolCallID && slices.EqualFunc(known.ToolCalls, m.ToolCalls, recorder.SameCall)
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
