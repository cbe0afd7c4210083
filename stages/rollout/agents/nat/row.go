package nat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/nat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// row returns the attempt that a stream describes. broken is why the stream
// ended early, or nil.
func (a *agent) row(s *stream, broken error) formats.Trajectory {
	b := &builder{Setup: a.setup, tree: tree.Tree{Same: same, Oldest: true}, ids: map[string]int{}} // the oldest, as in all rows so far
	for _, c := range nat.Calls(s.steps) {
		b.add(c)
	}
	b.t.Messages = b.tree.Messages
	var aside []formats.Candidate
	if !a.setup.TrainAlternatives {
		b.t.Messages, aside = tree.SplitAlternatives(b.t.Messages, b.t.Calls)
	}
	nat.Candidates(&b.t, s.steps)
	b.t.Candidates = append(b.t.Candidates, aside...)
	b.count()
	answer, err := a.answer(s)
	b.t.Answer = answer
	if s.trace != "" {
		trace, _ := json.Marshal(map[string]string{"observability_trace_id": s.trace})
		b.t.Metadata = string(trace)
	}
	b.conclude(s, broken, err)
	return b.t
}

// answer returns the workflow's answer, or what --result-path finds in it.
func (a *agent) answer(s *stream) (string, error) {
	text, value := s.answer()
	if a.result == nil || len(s.values) == 0 {
		return text, nil
	}
	found := a.result.Get(value)
	if len(found) == 0 {
		return "", agents.Failf(outcomes.FailAgentOutput, "--result-path %s finds nothing in the answer %.200s",
			a.config.ResultPath, text)
	}
	if one, ok := found[0].(string); ok {
		return one, nil
	}
	one, err := json.Marshal(found[0])
	return string(one), err
}

// count fills the columns that are sums.
func (b *builder) count() {
	t := &b.t
	t.SetTotals()
	for _, c := range t.Calls {
		if c.Target {
			t.Model = c.Model
		}
	}
	for i := range t.Messages {
		if t.Trained(i) && len(t.Messages[i].TokenIDs) > 0 {
			t.TokenSource = schema.TokensInLogprobs
		}
	}
}

func (b *builder) conclude(s *stream, broken, answer error) {
	t := &b.t
	target, lost := false, false
	for i := range t.Messages {
		if m := &t.Messages[i]; t.Trained(i) {
			target, lost = true, lost || m.FinishReason == "tool_calls" && len(m.ToolCalls) == 0
		}
	}
	var f *agents.Failure
	switch {
	case s.failed != nil:
		f = s.failed
	case broken != nil:
		f = agents.Failf(outcomes.FailAgentExit, "the workflow's stream broke: %v", broken)
	case errors.As(answer, &f):
	case len(s.values) == 0:
		f = agents.Failf(outcomes.FailAgentOutput, "the workflow ended without an answer")
	case len(t.Calls) == 0:
		f = agents.Failf(outcomes.FailNoCalls, "the workflow's steps hold no call of a model")
	case !target:
		f = agents.Failf(outcomes.FailNoCalls, "none of the %d calls is to the target model and function; they were of %s",
			len(t.Calls), b.seen())
	case b.failed != nil:
		f = b.failed
	case lost:
		f = agents.Failf(outcomes.FailAgentOutput,
			"an answer ended with tool calls that no step holds: the server streams, and no later prompt brings them back")
	default:
		rollout.Finish(t, b.AcceptFinish, "")
		return
	}
	rollout.Fail(t, outcomes.StopError, f.Class, f.Error())
}

// seen lists the models and functions of the calls, for the error that none was
// targeted.
func (b *builder) seen() string {
	var out []string
	for _, c := range b.t.Calls {
		if one := fmt.Sprintf("%q in %q", c.Model, c.Function); !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return strings.Join(out, ", ")
}
