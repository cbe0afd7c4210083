package openenv

import (
	"encoding/json"
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

// roles are those of sequences, turns and conversations. Of several the first counts.
var roles = []string{"agent", "auxiliary", "discarded"}

func roleOf(o jsontext.Object) string {
	role := must.Text("role", o.Get("role"))
	if !slices.Contains(roles, role) {
		must.Fail("role %q is not known; known are %s", role, strings.Join(roles, ", "))
	}
	return role
}

// call is a request to the model and its answer.
type call struct {
	formats.Call
	prompt []importers.Read
	ids    []int32 // of the prompt; nil: not known
	answer importers.Read
	tools  string
	rest   jsontext.Object // what no column has
}

// columns are the members of a call that become columns, or follow from them.
var columns = strings.Fields(`model sampling_params finish_reason request_messages request_tools response_message
	sampled_logprobs n_prompt n_sampled discarded trainable prompt_token_ids completion_token_ids per_token_logps
	loss_mask text tool_calls`)

// newCall reads a call but for its tokens. An engine may leave the role of an answer out.
func newCall(o jsontext.Object) (c call) {
	answer := must.Object("the answer", o.Get("response_message"))
	if !answer.Has("role") {
		answer.Set("role", []byte(`"assistant"`))
	}
	c.answer.Message, c.answer.Others = value.Message(answer.Bytes())
	c.answer.FinishReason = must.Text("finish_reason", o.Get("finish_reason"))
	c.prompt = value.Messages("request_messages", o.Get("request_messages"))
	c.tools, c.rest = value.Tools(o.Get("request_tools")), value.Without(o, columns...)
	c.Model = must.Text("model", o.Get("model"))
	c.Sampling = jsontext.Compact(must.Object("sampling_params", o.Get("sampling_params")).Bytes())
	return c
}

// set sets the tokens of a call, given the answer's mask and whether the recorder trains it.
func (c *call) set(prompt, sampled, mask []int32, logprobs []float32, trains bool) {
	ones := len(mask)
	for i, m := range mask {
		if ones += int(m) - 1; m > 1 {
			must.Fail("value %d of the answer's loss_mask is %d, neither 0 nor 1", i, m)
		}
	}
	if n := len(logprobs); ones > 0 && n != len(mask) {
		must.Fail("loss_mask is 1 for %d of %d sampled tokens, of which there are %d logprobs", ones, len(mask), n)
	}
	if c.Target = trains && (ones > 0 || len(mask) == 0); c.Target && ones < len(mask) {
		text, _ := json.Marshal(mask)
		c.rest.Set("loss_mask", text)
	}
	c.PromptTokens, c.CompletionTokens = int32(len(prompt)), int32(len(sampled))
	if c.answer.Logprobs = logprobs; len(prompt)+len(sampled) > 0 { // else they were not captured
		c.ids, c.answer.TokenIDs = prompt, sampled
	}
}

// own sets the tokens of a call that has them itself. Where nothing trains, zeros for all
// logprobs are the recorder's filling.
func (c *call) own(o jsontext.Object, trains bool) {
	prompt := must.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	sampled := must.IDs("completion_token_ids", o.Get("completion_token_ids"))
	logprobs := must.Logprobs("per_token_logps", o.Get("per_token_logps"))
	mask := must.IDs("loss_mask", o.Get("loss_mask"))
	if mask != nil { // an earlier version has none
		if p, s := len(prompt), len(sampled); len(mask) != p+s {
			must.Fail("%d prompt_token_ids and %d completion_token_ids, but loss_mask has %d values", p, s, len(mask))
		}
		outside(mask, 0, len(prompt))
		mask = mask[len(prompt):]
	}
	if c.set(prompt, sampled, mask, logprobs, trains); !c.Target &&
		!slices.ContainsFunc(logprobs, func(p float32) bool { return p != 0 }) {
		c.answer.Logprobs = nil
	}
}

// outside refuses a mask that trains tokens which no turn sampled.
func outside(mask []int32, from, to int) {
	if at := slices.IndexFunc(mask[from:to], func(m int32) bool { return m != 0 }); at >= 0 {
		must.Fail("loss_mask[%d] is %d, where no turn sampled a token", from+at, mask[from+at])
	}
}

// session builds a trajectory of calls in the order of their arrival.
type session struct {
	importers.Draft
	tree  tree.Tree
	rests []jsontext.Object // of the tree's messages
	train []bool            // by call
}

func (s *session) add(c call) {
	var prompt []formats.Message
	for i := range c.prompt {
		prompt = append(prompt, c.prompt[i].Message)
	}
	harness := must.Text("harness_session_id", c.rest.Get("harness_session_id"))
	path := s.tree.WalkIn(harness, tree.Path{At: -1}, prompt)
	for _, m := range c.prompt[len(prompt)+len(s.rests)-len(s.tree.Messages):] { // those that are new
		s.rests = append(s.rests, m.Others)
	}
	m, n := c.answer.Message, len(s.Calls)
	m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(s.tree.Messages, path.At, c.ids, path.Changed)
	m.Sampled, m.Call, c.Tools = true, int32(n), chat.AddToolSet(&s.ToolSets, c.tools)
	s.train, c.Target = append(s.train, c.Target), true // until it is known which answers are candidates
	s.Calls = append(s.Calls, c.Call)
	s.tree.AddSampled(path, m, 0, tree.Span{Began: float64(n), Ended: float64(n)})
	s.rests = append(s.rests, append(c.rest, c.answer.Others...))
}

// into sets the columns of a row of a record o, of which some members are read.
func (s *session) into(row *formats.Trajectory, o jsontext.Object, read ...string) {
	s.Messages, s.Candidates = tree.SplitAlternatives(s.tree.Messages, s.Calls)
	at := 0
	for i, rest := range s.rests { // those of candidates are not kept
		if at < len(s.Messages) && s.Messages[at].Call == s.tree.Messages[i].Call {
			s.Meta.NonEmptyOfMessage(at, rest)
			at++
		}
	}
	for i, trains := range s.train {
		s.Calls[i].Target = trains
	}
	s.Meta.AddRest(o, append(read, "session_id")...)
	s.Into(row)
	row.TrajectoryID = must.Text("session_id", o.Get("session_id"))
	if n := must.Whole("budget_stop_count", o.Get("budget_stop_count")); n != nil && *n > 0 {
		row.Status, row.StopReason = outcomes.StatusTruncated, outcomes.StopMaxCalls // the recorder answered itself
	}
}
