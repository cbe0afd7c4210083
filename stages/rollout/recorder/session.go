package recorder

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// Session records the calls of one trajectory.
type Session struct {
	recorder  *Recorder
	id, group string
	key       string // in the URL
	ctx       context.Context
	cancel    context.CancelCauseFunc
	busy      sync.WaitGroup
	cut       context.Context // ends when agents' connections are cut off
	cutOff    context.CancelFunc

	mu     sync.Mutex
	ended  bool
	clock  int // counts the beginnings and ends of calls
	tree   tree.Tree
	record Record // without the messages, which are in the tree, and what only the end decides

	outcomes []outcome // of the calls of the target model, in the order in which they ended

	admitted, underway int   // calls
	passed             int   // calls that passed through
	usedTokens         int64 // of the calls that ended, for MaxTokens

	responses apis.StoredResponses

	resume  Resume
	prompts prompts // of the tree
	earlier answers // that no request asked for yet
	origin  answers // of the trajectory that is forked, as far as they were not asked for; nil for no fork
	prefix  int     // calls of it that are to be repeated
	once    bool    // answers are not given again
	forked  bool    // the first call that is sampled anew was asked
}

// call is one request under way.
type call struct {
	ctx    context.Context // ends when the agent no longer waits; nil in tests
	index  int             // in record.Calls
	path   tree.Path
	began  int
	at     time.Time
	model  string // requested
	target bool

	request  *apis.Request
	digest   string    // of the request
	earlier  *Answered // the call that it repeats; nil: an engine answers
	repeated bool      // of the trajectory that is forked
	refused  bool      // it repeats none, and must
}

// BaseURL is where the trajectory's calls go; it ends in /v1.
func (s *Session) BaseURL() string { return s.recorder.url + "/t/" + s.key + "/v1" }

// Function is the header that names the calling function, for calls at BaseURL.
const Function = "X-Rollmill-Function"

// takeFunction returns the function of the agent that makes a call: from the URL,
// /t/KEY/f/FUNCTION/v1, or from the header, which goes no further.
func takeFunction(r *http.Request) string {
	defer r.Header.Del(Function)
	return cmp.Or(r.PathValue("function"), r.Header.Get(Function))
}

// sessionHeaders name an agent's conversation: those of Claude Code (which also
// names its sub-agents), Codex and OpenCode, and the general one.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "X-Claude-Code-Agent-Id", "Session_id", "Session-Id",
	"X-Openai-Subagent", "X-Opencode-Session", "X-Session-Id"}

func sessionOf(h http.Header) string {
	var out []string
	for _, name := range sessionHeaders {
		if v := h.Get(name); v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(out, " ")
}

// Context ends when the trajectory is found unfit for training, so that nothing
// more is paid for it. Its cause is then a *Failure.
func (s *Session) Context() context.Context { return s.ctx }

// Record is what a session recorded.
type Record struct {
	Messages    []formats.Message
	Calls       []formats.Call
	ToolSets    []string
	TokenSource string
	ToolErrors  formats.ToolErrors
	Untrainable *completion.Failure // the first reason why the trajectory must not be trained on, or nil
	LastCall    *completion.Failure // how the last call to end failed, or nil
	LostCall    *completion.Failure // how a target call failed at the engine that no later successful call followed, or nil
	Abandoned   *completion.Failure // how a target call ended that the agent did not wait for and that no other call makes up for, or nil
	Limit       string              // stop reason of a trajectory that exceeded a limit; "" for none
	Earlier     int                 // calls that no engine was asked for
	Diverged    string              // why a request equals none of the earlier calls, while there were some: a Diverged constant, or ""
	AnswersLeft string              // DivergedEnd if answers are left that no request asked for, or ""
}

// End stops the calls under way, closes the URL and returns the record.
func (s *Session) End() Record {
	s.mu.Lock()
	again := s.ended
	s.ended = true
	s.mu.Unlock()
	if !again {
		s.recorder.forget(s)
	}
	s.cancel(errEnded)
	late := time.AfterFunc(endGrace, s.cutOff)
	s.busy.Wait()
	late.Stop()
	s.cutOff()
	record := s.record
	record.Messages = s.tree.Messages
	s.decide(&record)
	if c := s.abandoned(); c != nil {
		record.Abandoned = &completion.Failure{Class: outcomes.FailAbandoned, Text: c.text()}
	}
	if len(s.earlier) > 0 || s.origin != nil && !s.forked {
		record.AnswersLeft = DivergedEnd
	}
	if s.origin != nil && !s.forked && record.Untrainable == nil {
		record.Untrainable = &completion.Failure{Class: outcomes.FailDiverged,
			Text: fmt.Sprintf("the attempt ended before call %d, where it was to go on otherwise", s.resume.Fork)}
	}
	return record
}

// endGrace is how long the handlers of an ended session have to return before
// their connections are cut. Other trajectories may reuse these connections.
const endGrace = time.Second

var errEnded = fmt.Errorf("the trajectory ended before the answer came")

func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.busy.Add(1)
	return true
}

// begin records the start of a call and completes its request.
func (s *Session) begin(q *apis.Request, function, session string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.recorder.opts
	k := len(s.record.Calls)
	s.clock++
	q.ID = fmt.Sprintf("resp_%016x", uint64(formats.Seed(0, s.id, "response", strconv.Itoa(k)))) // again so if repeated
	var path tree.Path
	before := len(s.tree.Messages)
	if q.PlainText {
		path = s.tree.WalkText(q.Messages[0])
	} else {
		s.restore(q)
		path = s.tree.WalkIn(session, tree.Path{At: -1}, q.Messages)
	}
	c := &call{index: k, path: path, began: s.clock, at: o.Now(), model: cmp.Or(q.Model, o.Model), request: q}
	c.target = c.model == o.Target && (len(o.Functions) == 0 || slices.Contains(o.Functions, function))
	s.record.ToolErrors.Add(q.ToolErrors)
	c.digest = requestDigest(s.prompts.of(s.tree.Messages, path.At), q.Tools, q.API.Name)
	s.findEarlier(c)
	if known := secret.From(s.ctx); q.Shows(known) ||
		slices.ContainsFunc(s.tree.Messages[before:], func(m formats.Message) bool { return known.InMessage(&m, nil) }) {
		s.reject(outcomes.FailSecret, SecretFound)
	}
	q.Enrich(&o.Defaults, s.seed(k-s.passed), c.target)
	s.record.Calls = append(s.record.Calls,
		formats.Call{Model: c.model, Sampling: q.Sampling(&o.Defaults), Tools: chat.AddToolSet(&s.record.ToolSets, q.Tools), Target: c.target,
			Function: strings.ToValidUTF8(function, "\uFFFD")})
	return c
}

func (s *Session) seed(k int) *int64 {
	base := s.recorder.opts.Seed
	if base == nil {
		return nil
	}
	return new(formats.Seed(*base, s.id, "call", strconv.Itoa(k)))
}

func (s *Session) end(c *call, r *engines.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	if r.Failure == nil && c.ctx != nil && c.ctx.Err() != nil { // for the agent, which did not wait, it is a failure
		r.Failure = streamFailure(c.ctx, nil)
	}
	if c.target {
		s.outcomes = append(s.outcomes, outcome{index: c.index, at: c.path.At, began: c.began, ended: s.clock, failure: r.Failure,
			left: r.Answer != nil && len(r.Answer.Choices) > 0 && r.Events != nil})
	}
	recorded := &s.record.Calls[c.index]
	defer func() { s.usedTokens += int64(recorded.PromptTokens) + int64(recorded.CompletionTokens) }()
	if ended := s.recorder.opts.Ended; ended != nil && c.earlier == nil {
		defer func() { ended(*recorded) }()
	}
	if called := s.recorder.opts.Called; called != nil && c.earlier == nil {
		called(c.model, c.request.API.Path, c.at, r.Failure)
	}
	recorded.Endpoint, recorded.Attempts = r.Endpoint, r.Tries
	recorded.LatencyMS = s.recorder.opts.Now().Sub(c.at).Milliseconds()
	s.record.LastCall = r.Failure
	if r.Failure != nil {
		recorded.Error = r.Failure.Text
		r.Answer.CountSpent(recorded)
		s.keepPaid(c)
		return
	}
	a := r.Answer
	a.Describe(recorded)
	recorded.LogprobsMode = s.recorder.opts.Logprobs[r.Endpoint]
	if c.earlier == nil {
		s.checkModel(c, recorded, a)
	}
	s.addAnswer(c, r)
	s.noteAnswered(c)
}

func (s *Session) checkModel(c *call, recorded *formats.Call, a *completion.Answer) {
	o := &s.recorder.opts
	version, ok := matchModel(c.model, a.Model, o.Accept)
	recorded.PolicyVersion = version
	if !c.target {
		return
	}
	if o.Version != nil && version == nil {
		recorded.PolicyVersion = o.Version
	}
	switch {
	case !ok:
		s.unfit(c, outcomes.FailModelMismatch, fmt.Sprintf("asked for model %q, answered by %q", c.model, a.Model))
	case o.Version != nil && version != nil && *version != *o.Version:
		s.unfit(c, outcomes.FailModelMismatch, fmt.Sprintf("asked for policy version %d, answered by %q", *o.Version, a.Model))
	}
}

func (s *Session) reject(class, text string) {
	if s.record.Untrainable == nil || class == outcomes.FailSecret { // whatever else: its answers are not kept
		s.record.Untrainable = &completion.Failure{Class: class, Text: text}
	}
}

// SecretFound is the error of a trajectory whose conversation held a secret.
const SecretFound = "the conversation held a secret of this process, which is redacted; keep the secret from the agent, or give it another value if " +
	"it is a common word"

func (s *Session) addAnswer(c *call, r *engines.Result) {
	recorded, a := &s.record.Calls[c.index], r.Answer
	for _, choice := range a.Choices {
		choice.Assemble()
		if secret.From(s.ctx).InMessage(&choice.Message, choice.TokenTexts()) {
			s.reject(outcomes.FailSecret, SecretFound)
		}
		if c.request.API.Translated() {
			choice.NameCalls(strings.TrimPrefix(c.request.ID, "resp_"))
		}
		if choice.AmbiguousCalls() {
			completion.Note(recorded, formats.AmbiguousCalls)
		}
	}
	if !a.Usage.Known {
		completion.Note(recorded, formats.NoUsage)
	}
	source, failure := a.KeepTokens()
	if failure != nil && c.request.NeedsLogprobs {
		s.unfit(c, failure.Class, failure.Text+s.askWholeAfter(r, c, failure))
	}
	if c.target {
		s.outcomes[len(s.outcomes)-1].source = source
	}
	if a.PromptIDs == nil {
		a.PromptIDs = c.request.PromptIDs
	}
	slices.SortStableFunc(a.Choices, func(x, y *completion.Choice) int { return cmp.Compare(x.Index, y.Index) })
	choices := make([]formats.Message, len(a.Choices))
	for k, choice := range a.Choices {
		choices[k] = choice.Message
	}
	s.tree.AddAnswer(c.path, c.index, a.PromptIDs, choices, tree.Span{Began: float64(c.began), Ended: float64(s.clock)})
	if recorded.CompletionTokens == 0 && !a.Choices[0].Message.NoTokens() {
		a.CountSpent(recorded)
	}
}

// askWholeAfter makes the engine of a stream with unfit logprobs give whole answers from now on, which may have them,
// and returns what to say of it.
func (s *Session) askWholeAfter(r *engines.Result, c *call, f *completion.Failure) string {
	if r.Events == nil || c.earlier != nil || f.Class != outcomes.FailNoLogprobs && f.Class != outcomes.FailLogprobMismatch {
		return ""
	}
	s.recorder.engines.RememberRefused(r.Endpoint, c.request, c.request.Streamed())
	return "; from now on this engine is asked for whole answers, which agents get as streams"
}
