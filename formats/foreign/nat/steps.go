package nat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

type builder struct {
	importers.Draft
	record *importers.Record
	all    []Step
	ids    map[string]int  // the framework's ids of answers
	heads  map[string]head // by the run of a function

	incomplete int // prompts of which only the last message is known
	unanswered int
	lost       bool // the tool calls of an answer are not known
}

// head is the last answer in a run of a function.
type head struct {
	at   int
	time float64
}

// steps adds the calls of a list of steps. Steps that are no calls of a model,
// and results of tools that are in no prompt, are kept as they are.
func (b *builder) steps(field string, list []byte) {
	raws := map[string][]byte{}
	var kept [][]byte
	for raw := range jsontext.Elements(list) {
		s, ok := ReadStoredStep(raw)
		if !ok {
			must.Fail("%s[%d] is no step: %s", field, len(b.all), importers.Brief(raw))
		}
		b.all = append(b.all, s)
		for _, seconds := range []float64{s.Began, s.Time} {
			b.Times.Add(value.Micros(fmt.Appendf(nil, "%f", seconds)))
		}
		switch {
		case s.Kind == "TOOL_END" && raws[s.ID] == nil:
			raws[s.ID] = raw
		case s.Kind != "LLM_START" && s.Kind != "LLM_END" && s.Kind != "TTC_END":
			kept = append(kept, raw)
		}
	}
	for _, c := range Calls(b.all) {
		b.call(c, raws)
	}
	for i := range b.all {
		if s := &b.all[i]; raws[s.ID] != nil && s.Kind == "TOOL_END" {
			kept = append(kept, raws[s.ID])
			delete(raws, s.ID)
		}
	}
	if len(kept) > 0 {
		b.Meta.Add(field, value.Join(kept))
	}
	b.lost = slices.ContainsFunc(b.Messages, func(m formats.Message) bool {
		return m.Sampled && m.FinishReason == "tool_calls" && len(m.ToolCalls) == 0
	})
}

// call adds a call and its answer. results are those of tools that are in no prompt yet.
func (b *builder) call(c *Call, results map[string][]byte) {
	if c.End == nil {
		b.unanswered++
		return
	}
	m, id, model, logprobs := c.Answered()
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = printedCalls(c.End.Data.Output)
	}
	tools := value.Tools([]byte(c.Tools()))
	if prompt, ids := c.Prompt(); len(prompt) > 0 {
		b.place(prompt, ids)
	} else {
		b.guess(c, results)
	}
	b.Offer(tools)
	call := formats.Call{Model: model, Function: c.Function, Target: true, PromptTokens: c.End.Prompt,
		CompletionTokens: c.End.Completion, CachedTokens: c.End.Cached, LatencyMS: latency(c)}
	source := value.ChoiceLogprobs(&m, logprobs)
	if n := len(m.Logprobs); n > 0 && call.CompletionTokens > 0 && n != int(call.CompletionTokens) {
		b.record.Lose("logprobs", "an answer has another number of logprobs than of tokens")
		m.Logprobs, m.TokenIDs, m.TokenTexts, source = nil, nil, nil, ""
	}
	b.Source = cmp.Or(b.Source, source)
	m.Branch = b.Again()
	at := b.Sampled(m, call)
	b.heads[c.End.Invocation] = head{at, c.End.Time}
	if id != "" {
		b.ids[id] = at
	}
}

// latency returns the duration of a call in milliseconds, 0 when it is unknown.
func latency(c *Call) int64 {
	began := c.End.Began
	if c.Start != nil {
		began = c.Start.Time
	}
	if began <= 0 {
		return 0
	}
	const maxLatency = 1e12 // ms: 30 years
	return int64(math.Round(max(0, min((c.End.Time-began)*1000, maxLatency))))
}

// place follows a prompt, and adds the messages that are not known. An answer
// whose LLM_END did not have its tool calls gets them from the prompt in which it
// comes back.
func (b *builder) place(prompt []formats.Message, ids []string) {
	b.Continue(-1)
	for i := range prompt {
		m := prompt[i]
		if at, known := b.ids[ids[i]]; known && ids[i] != "" {
			if s := &b.Messages[at]; int(s.Parent) == b.Last() && len(s.ToolCalls) == 0 {
				b.SetCalls(at, m.ToolCalls)
			}
		}
		b.Follow(m, nil)
	}
}

// guess goes on to the prompt of a call of which only the last message is known.
func (b *builder) guess(c *Call, results map[string][]byte) {
	b.incomplete++
	input := jsontext.AnyText(c.End.Data.Input)
	if h, ok := b.heads[c.End.Invocation]; ok {
		if between := b.between(h, c.End, results); slices.ContainsFunc(between,
			func(s *Step) bool { return s.Result().Content == input }) {
			b.results(h, between, results)
			return
		}
	}
	b.Continue(-1)
	b.Follow(formats.Message{Parent: -1, Call: -1, Role: "user", Content: input}, nil)
}

// between returns the results of tools that a run of a function got between an
// answer and the end of the next call.
func (b *builder) between(h head, end *Step, results map[string][]byte) (out []*Step) {
	until := end.Time
	if end.Began > 0 {
		until = end.Began
	}
	for i := range b.all {
		if s := &b.all[i]; s.Kind == "TOOL_END" && s.Invocation == end.Invocation && results[s.ID] != nil &&
			s.Time >= h.time && s.Time <= until {
			out = append(out, s)
		}
	}
	return out
}

// results adds the results of tools after the answer that called them, in the order of its calls.
func (b *builder) results(h head, between []*Step, results map[string][]byte) {
	asked := &b.Messages[h.at]
	at := func(s *Step) int {
		return slices.IndexFunc(asked.ToolCalls, func(c formats.ToolCall) bool { return c.ID == s.Result().ToolCallID })
	}
	slices.SortStableFunc(between, func(x, y *Step) int { return cmp.Compare(at(x), at(y)) })
	for _, s := range between {
		if id := s.Result().ToolCallID; id != "" && at(s) < 0 {
			asked.ToolCalls = append(asked.ToolCalls,
				formats.ToolCall{ID: id, Name: s.Name, Arguments: printed(jsontext.AnyText(s.Data.Input))})
		}
	}
	b.SetCalls(h.at, asked.ToolCalls)
	b.Continue(h.at)
	for _, s := range between {
		b.Follow(s.Result(), nil)
		delete(results, s.ID)
	}
}

// printed returns a Python value that was printed as JSON; a text that is none as it is.
func printed(text string) string {
	if v, ok := python(text); ok {
		return string(v)
	}
	return text
}

const callsMark = "\n\nTool calls: "

// printedCalls returns the tool calls that NAT prints after the text of an answer.
func printedCalls(output json.RawMessage) []formats.ToolCall {
	text := jsontext.AnyText(output)
	at := strings.LastIndex(text, callsMark)
	if at < 0 {
		return nil
	}
	list, ok := python(text[at+len(callsMark):])
	if !ok {
		return nil
	}
	return ToolCalls(list)
}

// Candidates adds the scored alternatives to a row, as NAT's test-time compute
// logs them. The messages of the row are known; the message to which a turn's
// candidates were alternatives is the answer that one of them became.
func Candidates(t *formats.Trajectory, steps []Step) {
	for i := range steps {
		if s := &steps[i]; s.Kind == "TTC_END" {
			content, _ := stepText(s.Data.Output)
			more, _ := json.Marshal(map[string]any{"step": s.Name, "input": s.Data.Input, "turn_index": s.Data.TurnIndex,
				"candidate_index": s.Data.CandidateIndex})
			t.Candidates = append(t.Candidates,
				formats.Candidate{Message: -1, Turn: s.Data.TurnID, Content: content, Score: s.Data.Score,
					Metadata: string(more)})
		}
	}
	settle(t)
}

func settle(t *formats.Trajectory) {
	chosen := map[string]int32{}
	for _, c := range t.Candidates {
		for i := range t.Messages {
			if m := &t.Messages[i]; m.Sampled && m.Content == c.Content {
				if _, known := chosen[c.Turn]; !known {
					chosen[c.Turn] = int32(i)
				}
			}
		}
	}
	for i := range t.Candidates {
		if at, known := chosen[t.Candidates[i].Turn]; known {
			t.Candidates[i].Message = at
		}
	}
}
