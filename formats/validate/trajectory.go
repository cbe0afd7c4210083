package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// maxLogprob is the largest rounding error above 0 in an engine's sums.
const maxLogprob = 1e-4

func (c *checks) messages(t *formats.Trajectory) {
	defer c.out()
	for i := range t.Messages {
		m := &t.Messages[i]
		c.in("messages", i)
		c.unless(m.Parent < -1 || int(m.Parent) >= i, "parent", "is %d; parents come before their children", m.Parent)
		c.unless(m.Role == "", "role", "is empty")
		c.text("content", m.Content)
		c.text("reasoning", m.Reasoning)
		c.unless(m.ContentParts != "" && m.Content != "", "content_parts", "is set although content is set")
		c.unless(m.ContentParts != "" && !isJSON(m.ContentParts, '['), "content_parts", "is not a JSON array")
		if k := slices.IndexFunc(m.ToolCalls, func(call formats.ToolCall) bool { return call.Name == "" }); k >= 0 {
			c.unless(true, fmt.Sprintf("tool_calls[%d].name", k), "is empty")
		}
		if m.Sampled {
			c.unless(m.Call < 0 || int(m.Call) >= len(t.Calls), "call", "is %d of %d calls", m.Call, len(t.Calls))
			c.sampledTokens(m)
			continue
		}
		c.unless(m.Call != -1, "call", "is %d, but the message is not sampled", m.Call)
		c.unless(m.TokenIDs != nil, "token_ids", "are set, but the message is not sampled")
		c.unless(m.Logprobs != nil, "logprobs", "are set, but the message is not sampled")
		c.unless(m.PromptDeltaIDs != nil, "prompt_delta_ids", "are set, but the message is not sampled")
	}
}

func (c *checks) sampledTokens(m *formats.Message) {
	ids, logprobs := m.TokenIDs, m.Logprobs
	c.unless(unequal(m), "logprobs", "are %d for %d tokens", len(logprobs), len(ids))
	if i := slices.IndexFunc(logprobs, func(p float32) bool { return !finite(float64(p)) || p > maxLogprob }); i >= 0 {
		c.unless(true, fmt.Sprintf("logprobs[%d]", i), "is %v; log probabilities are finite and at most 0", logprobs[i])
	}
	negative := func(id int32) bool { return id < 0 }
	c.unless(slices.ContainsFunc(ids, negative), "token_ids", "has a negative id")
	c.unless(slices.ContainsFunc(m.PromptDeltaIDs, negative), "prompt_delta_ids", "has a negative id")
}

func (c *checks) calls(t *formats.Trajectory) {
	for i := range t.Calls {
		call := &t.Calls[i]
		c.in("calls", i)
		c.unless(call.Tools < -1 || int(call.Tools) >= len(t.ToolSets), "tools", "is %d of %d tool sets", call.Tools,
			len(t.ToolSets))
		c.unless(call.PromptTokens < 0, "prompt_tokens", "is %d", call.PromptTokens)
		c.unless(call.CompletionTokens < 0, "completion_tokens", "is %d", call.CompletionTokens)
		c.unless(call.LatencyMS < 0, "latency_ms", "is %d", call.LatencyMS)
		if call.Sampling != "" {
			c.object("sampling", call.Sampling)
		}
	}
	c.out()
	for i, tools := range t.ToolSets {
		c.unless(!isJSON(tools, '['), fmt.Sprintf("tool_sets[%d]", i), "is not a JSON array")
	}
}

func (c *checks) candidates(t *formats.Trajectory) {
	defer c.out()
	for i := range t.Candidates {
		a := &t.Candidates[i]
		c.in("candidates", i)
		c.unless(a.Message < -1 || int(a.Message) >= len(t.Messages), "message", "is %d of %d messages", a.Message,
			len(t.Messages))
		c.number("score", a.Score)
		c.text("content", a.Content)
		if a.Metadata != "" {
			c.object("metadata", a.Metadata)
		}
	}
}

// state checks status, stop_reason and failure_class against each other and
// against what was recorded.
func (c *checks) state(t *formats.Trajectory) {
	c.listed("status", t.Status, outcomes.Statuses)
	c.listed("stop_reason", t.StopReason, outcomes.StopReasons)
	failed := t.Status == outcomes.StatusFailed
	c.unless(failed != (t.FailureClass != ""), "failure_class", "is %q, but status is %q", t.FailureClass, t.Status)
	if t.FailureClass != "" {
		c.listed("failure_class", t.FailureClass, outcomes.FailureClasses)
	}
	stops := map[string][]string{
		outcomes.StatusOK:        {outcomes.StopDone},
		outcomes.StatusTruncated: {outcomes.StopLength, outcomes.StopTurns, outcomes.StopMaxCalls, outcomes.StopMaxTokens},
		outcomes.StatusFailed:    {outcomes.StopError, outcomes.StopTimeout, outcomes.StopCancelled, outcomes.StopBudget},
		outcomes.StatusSkipped:   {outcomes.StopSkipped, outcomes.StopBudget, outcomes.StopCancelled},
	}
	if allowed, known := stops[t.Status]; known && slices.Contains(outcomes.StopReasons, t.StopReason) {
		c.unless(!slices.Contains(allowed, t.StopReason), "stop_reason", "is %q, but status is %q", t.StopReason, t.Status)
	}
	sampled := slices.ContainsFunc(t.Messages, func(m formats.Message) bool { return m.Sampled })
	c.unless(valid(t.Status) && !sampled, "messages", "hold nothing sampled, but status is %q", t.Status)
	c.unless(t.Status == outcomes.StatusSkipped && sampled, "messages", "hold sampled ones, but the trajectory was skipped")
}

// tokens compares the counts with the messages.
func (c *checks) tokens(t *formats.Trajectory) {
	var ids, logprobs, completion int
	for i := range t.Messages {
		if t.Trained(i) {
			ids += len(t.Messages[i].TokenIDs)
			logprobs += len(t.Messages[i].Logprobs)
		}
	}
	for i := range t.Calls {
		completion += int(t.Calls[i].CompletionTokens)
	}
	n := int(t.SampledTokens)
	c.unless(n != ids && n != logprobs, "sampled_tokens", "is %d, but the messages hold %d ids and %d log probabilities", n,
		ids, logprobs)
	c.unless(int(t.CompletionTokens) != completion, "completion_tokens", "is %d, but the calls' sum is %d",
		t.CompletionTokens, completion)
	c.unless(t.PromptTokens < 0, "prompt_tokens", "is %d", t.PromptTokens)
	c.unless(ids > 0 && t.TokenSource == "", "token_source", "is null, but there are token ids")
}

func (c *checks) digest(t *formats.Trajectory) {
	again := *t
	again.SetPayloadDigest()
	c.unless(t.PayloadDigest != "" && t.PayloadDigest != again.PayloadDigest, "payload_digest",
		"is %s, but the payload gives %s", t.PayloadDigest, again.PayloadDigest)
}

func (c *checks) text(column, s string) {
	c.unless(!utf8.ValidString(s), column, "is not UTF-8")
}

func (c *checks) object(column, s string) {
	c.unless(!isJSON(s, '{'), column, "is not a JSON object")
}

func isJSON(s string, first byte) bool {
	s = strings.TrimSpace(s)
	return s != "" && s[0] == first && json.Valid([]byte(s))
}
