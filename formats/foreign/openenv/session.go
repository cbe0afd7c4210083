package openenv

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// session builds a trajectory of calls in the order of their arrival.
type session struct {
	importers.Draft
	tree  tree.Tree
	rests []jsontext.Object // what no column has of the tree's messages
}

// columns are the members of a call that become columns, or follow from them.
var columns = strings.Fields(`model sampling_params finish_reason request_messages request_tools response_message
	sampled_logprobs n_prompt n_sampled discarded trainable prompt_token_ids completion_token_ids per_token_logps
	loss_mask text tool_calls`)

// add adds a call.
func (s *session) add(o jsontext.Object, t tokens) {
	prompt := value.Messages("request_messages", o.Get("request_messages"))
	path := s.walk(must.Text("harness_session_id", o.Get("harness_session_id")), prompt)
	answer := jsontext.Object{{Key: "role", Raw: []byte(`"assistant"`)}} // an engine may leave it out
	m, others := value.Message(append(answer, must.Object("the answer", o.Get("response_message"))...).Bytes())
	m.FinishReason = must.Text("finish_reason", o.Get("finish_reason"))
	s.Offer(value.Tools(o.Get("request_tools")))
	c := formats.Call{Model: must.Text("model", o.Get("model")), Target: t.trained(),
		Sampling:     jsontext.Compact(must.Object("sampling_params", o.Get("sampling_params")).Bytes()),
		PromptTokens: int32(len(t.prompt)), CompletionTokens: int32(len(t.sampled))}
	s.Call(c)
	m.Sampled, m.Call, m.Logprobs = true, int32(len(s.Calls)-1), t.logprobs
	if len(t.prompt)+len(t.sampled) > 0 { // else they were not captured
		m.TokenIDs = t.sampled
		m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(s.tree.Messages, path.At, t.prompt, path.Changed)
	}
	rest := value.Without(o, columns...)
	if c.Target && slices.Contains(t.mask, 0) { // a part of the answer trains
		text, _ := jsontext.Append(nil, t.mask)
		rest.Set("loss_mask", text)
	}
	s.tree.AddSampled(path, m, 0, tree.Span{})
	s.rests = append(s.rests, append(rest, others...))
}

// walk follows a prompt, and adds what is new in it.
func (s *session) walk(harness string, prompt []importers.Read) tree.Path {
	var messages []formats.Message
	for i := range prompt {
		messages = append(messages, prompt[i].Message)
	}
	path := s.tree.WalkIn(harness, tree.Path{At: -1}, messages)
	for _, m := range prompt[len(prompt)+len(s.rests)-len(s.tree.Messages):] {
		s.rests = append(s.rests, m.Others)
	}
	return path
}

// into sets the columns of a row of a record o, of which some members are read.
func (s *session) into(row *formats.Trajectory, o jsontext.Object, read ...string) {
	calls := slices.Clone(s.Calls)
	for i := range calls {
		calls[i].Target = true // an answer that does not train can be an alternative, too
	}
	s.Messages, s.Candidates = tree.SplitAlternatives(s.tree.Messages, calls)
	at := 0
	for i, rest := range s.rests { // those of candidates are not kept
		if at < len(s.Messages) && s.Messages[at].Call == s.tree.Messages[i].Call {
			s.Meta.NonEmptyOfMessage(at, rest)
			at++
		}
	}
	s.Meta.AddRest(o, append(read, "session_id")...)
	s.Into(row)
	row.TrajectoryID = must.Text("session_id", o.Get("session_id"))
	if n := must.Whole("budget_stop_count", o.Get("budget_stop_count")); n != nil && *n > 0 {
		row.Status, row.StopReason = outcomes.StatusTruncated, outcomes.StopMaxCalls // the recorder answered itself
	}
}

// tokens are those of a call; nil: not captured.
type tokens struct {
	prompt, sampled []int32
	mask            []int32 // of the sampled; an earlier version has none
	logprobs        []float32
	trains          bool // by the recorder
}

// trained reports whether an answer trains, or a part of it.
func (t *tokens) trained() bool {
	ones := 0
	for i, m := range t.mask {
		if ones += int(m); m > 1 {
			must.Fail("value %d of the answer's loss_mask is %d, neither 0 nor 1", i, m)
		}
	}
	if n := len(t.logprobs); ones > 0 && n != len(t.mask) {
		must.Fail("loss_mask is 1 for %d of %d sampled tokens, of which there are %d logprobs", ones, len(t.mask), n)
	}
	return t.trains && (ones > 0 || len(t.mask) == 0)
}

// outside refuses a mask that trains tokens which no turn sampled.
func outside(mask []int32, from, to int) {
	if at := slices.IndexFunc(mask[from:to], func(m int32) bool { return m != 0 }); at >= 0 {
		must.Fail("loss_mask[%d] is %d, where no turn sampled a token", from+at, mask[from+at])
	}
}
