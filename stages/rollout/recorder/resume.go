package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// Answered is a call that was answered, with what identifies its request: enough to
// answer the same request again without an engine.
type Answered struct {
	Request string            `parquet:"request"` // digest of its prompt, tools and API
	Index   int32             `parquet:"index,delta"`
	Call    formats.Call      `parquet:"call"`
	Choices []formats.Message `parquet:"choices,list"`
}

// Why an attempt goes on without the answers that its last process had (Record.Diverged).
const (
	DivergedPrompt   = "prompt"   // a message of the agent is another one
	DivergedTool     = "tool"     // what a tool returned
	DivergedTools    = "tools"    // the tools that the model may call
	DivergedSampling = "sampling" // temperature and other fields
	DivergedMore     = "more"     // it asks again where it had ended
	DivergedEnd      = "end"      // it ends where it had asked again
)

// findEarlier finds the answered call that a call repeats. The first request that none equals,
// while some are left, shows why the agent diverged.
func (s *Session) findEarlier(c *call) {
	if len(s.earlier) == 0 && !s.resume.Only && s.origin == nil {
		return
	}
	own := c.request.Own(s.recorder.opts.Extra)
	for i := range own { // as rows and journals have it
		own[i].Raw = []byte(secret.From(s.ctx).Redact(string(own[i].Raw)))
	}
	if c.earlier = s.origin.take(c.digest, own); c.earlier != nil {
		if c.repeated = c.earlier.Index < s.resume.Fork; c.repeated {
			c.target = false // it trains where it was sampled
			s.prefix--
			return
		}
		s.forked = true
	}
	if c.earlier = s.earlier.take(c.digest, own); c.earlier != nil {
		return
	}
	before, left := "before its process died", s.earlier
	switch {
	case s.origin != nil && !s.forked: // perhaps only a tool said something else before the first call that is sampled
		before, left, c.refused = "in the trajectory that is forked", s.origin, s.prefix > 0
		s.forked = s.prefix == 0
	case len(left) == 0 && !s.resume.Only:
		return
	}
	if s.record.Diverged == "" {
		s.record.Diverged = s.cause(c, left)
	}
	if c.refused = c.refused || s.resume.Strict || s.resume.Only; c.refused {
		s.reject(outcomes.FailDiverged, "the attempt asks something else than "+before+": "+s.record.Diverged)
	}
}

// cause returns why none of the answered calls that are left is like c.
func (s *Session) cause(c *call, left answers) string {
	if len(left) == 0 {
		return DivergedMore
	}
	if left[c.digest] != nil {
		return DivergedSampling
	}
	prompt, _, _ := strings.Cut(c.digest, "/")
	for request := range left {
		if strings.HasPrefix(request, prompt) {
			return DivergedTools
		}
	}
	for at := c.path.At; at >= 0 && !s.tree.Messages[at].Sampled; at = int(s.tree.Messages[at].Parent) {
		if s.tree.Messages[at].Role == "tool" {
			return DivergedTool
		}
	}
	return DivergedPrompt
}

// answer asks the engine, or repeats its answer.
func (s *Session) answer(ctx context.Context, c *call, header http.Header) *engines.Result {
	switch {
	case c.refused:
		return &engines.Result{Failure: &completion.Failure{Class: outcomes.FailDiverged, Text: "no recorded call asks this"}}
	case c.earlier == nil:
		return s.recorder.engines.Call(ctx, s.group, c.request, header)
	}
	s.mu.Lock()
	var prompt []int32
	if len(c.earlier.Choices) > 0 {
		prompt = chat.PromptIDs(s.tree.Messages, c.path.At, &c.earlier.Choices[0])
	}
	s.mu.Unlock()
	r := engines.ReadWhole(c.request, c.earlier.body(c.request, prompt)) // a stream of the agent is made of it
	r.Endpoint, r.Tries = c.earlier.Call.Endpoint, c.earlier.Call.Attempts
	return r
}

// noteAnswered hands out an answered call, or makes one that got an earlier answer what that call was. An
// answer that nothing can be trained on is not given again: the engine may be mended.
func (s *Session) noteAnswered(c *call) {
	recorded := &s.record.Calls[c.index]
	if c.earlier != nil {
		tools := recorded.Tools
		*recorded = c.earlier.Call
		recorded.Tools, recorded.Repeated, recorded.Replayed = tools, c.repeated, !c.repeated
		s.record.Earlier++
		if c.repeated {
			s.usedTokens += int64(recorded.PromptTokens) + int64(recorded.CompletionTokens)
			recorded.Target, recorded.Attempts, recorded.Endpoint, recorded.LatencyMS = false, 0, "", 0
			recorded.PromptTokens, recorded.CompletionTokens, recorded.CachedTokens = 0, 0, 0
		}
		return
	}
	if s.record.Untrainable != nil || s.once || c.target && s.outcomes[len(s.outcomes)-1].unfit != nil {
		s.keepPaid(c)
		return
	}
	if s.resume.Keep == nil {
		return
	}
	a := Answered{Request: c.digest, Index: int32(c.index), Call: *recorded}
	for i := len(s.tree.Messages) - 1; i >= 0 && s.tree.Messages[i].Call == a.Index; i-- {
		a.Choices = append(a.Choices, s.tree.Messages[i])
	}
	slices.Reverse(a.Choices)
	s.resume.Keep(a)
}

// ResumeHeader is off in the calls of an agent whose tools must not run twice: its attempts begin
// anew, whatever they were answered.
const ResumeHeader = "X-Rollmill-Resume"

// keepPaid keeps what a call cost whose answer is not given again.
func (s *Session) keepPaid(c *call) {
	if paid := s.record.Calls[c.index]; s.resume.Keep != nil && c.earlier == nil && paid.PromptTokens+paid.CompletionTokens > 0 {
		s.resume.Keep(Answered{Index: int32(c.index), Call: paid})
	}
}

// AnsweredOf returns the answered calls of a trajectory that was recorded. Those whose answers it
// does not have whole are without a Request, and cannot be repeated: of several choices, those that
// the agent did not take are apart, in no order.
func AnsweredOf(t *formats.Trajectory) (out []Answered) {
	choices, before := make([][]formats.Message, len(t.Calls)), make([]int32, len(t.Calls))
	answered := func(call int32, m formats.Message) {
		if call >= 0 && int(call) < len(t.Calls) {
			choices[call], before[call] = append(choices[call], m), m.Parent
		}
	}
	for i := range t.Messages {
		if m := t.Messages[i]; m.Sampled {
			answered(m.Call, m)
		}
	}
	for i := range t.Candidates {
		if c := &t.Candidates[i]; c.Reason != "" && c.Message >= 0 && int(c.Message) < len(t.Messages) {
			chosen := t.Messages[c.Message]
			call := chosen.Call
			if c.Call != nil {
				call = *c.Call
			}
			answered(call, formats.Message{Parent: chosen.Parent, Role: chosen.Role, Content: c.Content, Reasoning: c.Reasoning, ToolCalls: c.ToolCalls,
				Sampled: true, FinishReason: c.FinishReason, Call: call, TokenIDs: c.TokenIDs,
				Logprobs: c.Logprobs, TokenTexts: c.TokenTexts,
				PromptDeltaIDs: chosen.PromptDeltaIDs, PrefixBreak: chosen.PrefixBreak})
		}
	}
	var p prompts
	for k, c := range t.Calls {
		var sampling struct{ API string }
		_ = json.Unmarshal([]byte(c.Sampling), &sampling) // another API than chat completions is named there
		a := Answered{Index: int32(k), Call: c, Choices: choices[k]}
		if len(choices[k]) == 1 {
			a.Request = requestDigest(p.of(t.Messages, int(before[k])), chat.ToolSet(t, c.Tools), cmp.Or(sampling.API, apis.Chat.Name))
		}
		if c.Error == "" {
			out = append(out, a)
		}
	}
	return out
}

// Resume says how an attempt continues one whose process died, and which one it forks.
type Resume struct {
	Answered []Answered     // a request that equals one of theirs gets its answer, each once, and no engine is asked
	Keep     func(Answered) // called with each call that an engine answered; may be nil
	Strict   bool           // a request that equals none while some are left is refused, and the trajectory fails
	Only     bool           // there is no engine: also if none are left

	// Origin is the trajectory that is forked, or nil. Its calls before Fork are repeated in any
	// order: a request that is none of them, before all of them were asked, is refused.
	Origin []Answered
	Fork   int32
}

// prompts are digests of the prompts that end with each message of a tree.
type prompts []xxh3.Uint128

// of returns the digest of the prompt that ends with message at; -1 for an empty one.
func (p *prompts) of(messages []formats.Message, at int) xxh3.Uint128 {
	type said struct {
		Before                      xxh3.Uint128
		Role, Name, Content, Parts  string
		Reasoning, Tools, Arguments []string
	}
	for i := len(*p); i <= at; i++ {
		m := &messages[i]
		s := said{Role: m.Role, Name: m.Name, Content: m.Content, Parts: m.ContentParts, Reasoning: []string{m.Reasoning}}
		if m.Parent >= 0 {
			s.Before = (*p)[m.Parent]
		}
		for _, c := range m.ToolCalls { // without ids: they may be random
			s.Tools, s.Arguments = append(s.Tools, c.Name), append(s.Arguments, c.Arguments)
		}
		*p = append(*p, xxh3.Hash128(spill.Append(nil, &s)))
	}
	if at < 0 {
		return xxh3.Uint128{}
	}
	return (*p)[at]
}

// requestDigest identifies a request by its prompt, and by its tools and API.
func requestDigest(prompt xxh3.Uint128, tools, api string) string {
	return fmt.Sprintf("%016x/%016x", prompt.Lo, xxh3.HashString(api+" "+tools))
}

// answers are calls that may be answered again, by request, in the order in which they were made.
type answers map[string][]Answered

func newAnswers(all []Answered) answers {
	slices.SortStableFunc(all, func(a, b Answered) int { return int(a.Index - b.Index) })
	out := answers{}
	for _, a := range all {
		before := out[a.Request]
		if n := len(before); a.Request == "" || n > 0 && before[n-1].Index == a.Index {
			continue // it cannot be repeated, or two processes made it
		}
		out[a.Request] = append(before, a)
	}
	return out
}

// take removes and returns the first answer to a request whose sampling has all of the
// agent's own fields; nil if there is none.
func (a answers) take(request string, own jsontext.Object) *Answered {
	list := a[request]
	for i := range list {
		sampled := jsontext.ParseObject([]byte(list[i].Call.Sampling))
		if !slices.ContainsFunc(own, func(f jsontext.Member) bool { return !jsontext.Same(string(sampled.Get(f.Key)), string(f.Raw)) }) {
			found := list[i]
			if a[request] = slices.Delete(list, i, i+1); len(a[request]) == 0 {
				delete(a, request)
			}
			return &found
		}
	}
	return nil
}

// body returns a whole answer of an engine.
func (a *Answered) body(q *apis.Request, prompt []int32) []byte {
	type object = map[string]any
	var choices []object
	for i := range a.Choices {
		m := &a.Choices[i]
		c := object{"index": i, "finish_reason": m.FinishReason, "token_ids": m.TokenIDs, "logprobs": nil}
		if q.PlainText {
			c["text"] = m.Content
		} else {
			c["message"] = message(m)
		}
		if m.Logprobs != nil {
			c["logprobs"] = logprobs(m, q.PlainText)
		}
		choices = append(choices, c)
	}
	body, _ := json.Marshal(object{"id": "replayed-" + strconv.Itoa(int(a.Index)), "object": "chat.completion", "created": 0, "model": a.Call.Model,
		"prompt_token_ids": prompt, "choices": choices, "usage": object{"prompt_tokens": a.Call.PromptTokens,
			"completion_tokens": a.Call.CompletionTokens, "total_tokens": a.Call.PromptTokens + a.Call.CompletionTokens,
			"prompt_tokens_details": object{"cached_tokens": a.Call.CachedTokens}}})
	return body
}

func message(m *formats.Message) map[string]any {
	out := map[string]any{"role": m.Role, "content": m.Content}
	if m.ContentParts != "" {
		out["content"] = json.RawMessage(m.ContentParts)
	}
	if m.Reasoning != "" {
		out["reasoning_content"] = m.Reasoning
	}
	if m.ToolCalls != nil {
		out["tool_calls"] = chat.APICalls(m.ToolCalls)
	}
	return out
}

// logprobs are those of a message's tokens: of chat completions, or of completions.
func logprobs(m *formats.Message, text bool) map[string]any {
	tokens := make([]string, len(m.Logprobs))
	var entries []map[string]any
	for i, p := range m.Logprobs {
		switch {
		case len(m.TokenTexts) == len(m.Logprobs):
			tokens[i] = m.TokenTexts[i]
		case len(m.TokenIDs) == len(m.Logprobs):
			tokens[i] = "token_id:" + strconv.Itoa(int(m.TokenIDs[i]))
		}
		entries = append(entries, map[string]any{"token": tokens[i], "logprob": p, "bytes": nil, "top_logprobs": []int{}})
	}
	if text {
		return map[string]any{"tokens": tokens, "token_logprobs": m.Logprobs}
	}
	return map[string]any{"content": entries}
}
