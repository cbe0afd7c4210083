package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/tree"
)

// outcome is how a call of the target model ended. Times are the session's clock.
type outcome struct {
	index        int // in record.Calls
	at           int // last message of its prompt
	began, ended int
	failure      *completion.Failure
	left         bool                // the agent had a part of its stream
	source       string              // of its token ids
	unfit        *completion.Failure // why its answer cannot be trained on, if that matters only unless the call is auxiliary
}

// unfit notes that the answer of the target call that ended last cannot be trained on. A call without tools may prove
// auxiliary, so only the end of the trajectory decides whether that matters.
func (s *Session) unfit(c *call, class, text string) {
	if c.request.Tools != "" || s.recorder.opts.TrainAuxiliary {
		s.reject(class, text)
		return
	}
	if o := &s.outcomes[len(s.outcomes)-1]; o.unfit == nil {
		o.unfit = &completion.Failure{Class: class, Text: text}
	}
}

// decide makes auxiliary calls untrained, and adds to the record what follows from the other calls of the target model.
// A call that the engine failed is lost until one that began later is answered: that shows that the agent recovered.
func (s *Session) decide(record *Record) {
	if !s.recorder.opts.TrainAuxiliary {
		prompts := slices.Repeat([]int{-1}, len(record.Calls))
		for i := range s.outcomes {
			prompts[s.outcomes[i].index] = s.outcomes[i].at
		}
		if auxiliary := tree.SkipAuxiliary(record.Messages, record.Calls, prompts); auxiliary != nil {
			s.outcomes = slices.DeleteFunc(s.outcomes, func(c outcome) bool { return auxiliary[c.index] })
		}
	}
	lostAt := 0
	for i := range s.outcomes {
		c := &s.outcomes[i]
		record.TokenSource = cmp.Or(record.TokenSource, c.source)
		if record.Untrainable == nil {
			record.Untrainable = c.unfit
		}
		switch f := c.failure; {
		case f == nil && c.began > lostAt:
			record.LostCall = nil
		case f != nil && (f.Class == outcomes.FailEngine || f.Class == outcomes.FailEngineRefused):
			record.LostCall, lostAt = f, c.ended
		}
	}
}

// restore gives a request's tool calls the text of arguments that was sampled.
func (s *Session) restore(q *apis.Request) {
	changed := s.tree.Restore(q.Messages, func(c *formats.ToolCall) string { return q.API.Arguments(q, c) })
	if q.API.Translated() {
		q.SetMessages()
	} else if len(changed) > 0 {
		q.SetArguments(changed)
	}
}

// ErrLimit is the cause with which a session's context ends when the trajectory exceeds its limit of calls or tokens.
var ErrLimit = errors.New("the trajectory has reached its limit of calls or tokens")

// admit counts a call that is about to begin. It returns why the call is
// refused, or "". Calls under way still finish and are recorded.
func (s *Session) admit() (refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.recorder.opts
	switch {
	case o.MaxCalls > 0 && s.admitted >= o.MaxCalls:
		s.record.Limit = outcomes.StopMaxCalls
		return fmt.Sprintf("this trajectory has made %d calls, as many as it may", s.admitted)
	case o.MaxTokens > 0 && s.usedTokens >= o.MaxTokens:
		s.record.Limit = outcomes.StopMaxTokens
		return fmt.Sprintf("the calls of this trajectory have taken %d tokens, of %d that they may", s.usedTokens,
			o.MaxTokens)
	}
	s.admitted++
	s.underway++
	return ""
}

// leave is called when so many admitted calls have ended. It ends the trajectory once a call
// was refused and no call is under way.
func (s *Session) leave(calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underway -= calls; s.record.Limit != "" && s.underway == 0 {
		s.cancel(ErrLimit)
	}
}

// IsAbandoned reports whether a call has no whole answer because the agent did not wait for it.
func IsAbandoned(c *formats.Call) bool {
	return c.Target && (c.Error == errHungUp.Error() || c.Error == errEnded.Error())
}

// abandoned returns why the first call of the target model that the agent did not wait for ended, or nil. A call that
// was made up for does not count, and a stream that the agent left only without Options.AcceptLeftStreams.
func (s *Session) abandoned() *outcome {
	for i := range s.outcomes {
		c := &s.outcomes[i]
		if c.failure == nil || c.failure.Class != outcomes.FailCancelled || c.left && s.recorder.opts.AcceptLeftStreams {
			continue
		}
		if !slices.ContainsFunc(s.outcomes, func(d outcome) bool { return d.failure == nil && s.makesUpFor(&d, c) }) {
			return c
		}
	}
	return nil
}

// text says what happened and what helps.
func (c *outcome) text() string {
	if c.left {
		return c.failure.Text + ": it left the stream (--accept-left-streams keeps such trajectories)"
	}
	return c.failure.Text + ", and no later call of this conversation was answered; raise the time-out of the agent's client, or retry the call in the agent"
}

// makesUpFor reports whether the answered call d makes up for the abandoned call c. It does if it was answered after c
// began and its prompt is that of c or continues it: it is a retry, the winner of a race, or goes on. It also does if
// it was answered after c ended and either has a compacted history or goes on from an answer from before the branch of
// c began: a parent after its sub-agent, or an agent that goes back. Calls of conversations beside that of c do not.
func (s *Session) makesUpFor(d, c *outcome) bool {
	onPath, answer := map[int]bool{-1: true}, -1 // the last answer that d's prompt has
	for at := d.at; at >= 0; at = int(s.tree.Messages[at].Parent) {
		onPath[at] = true
		if answer < 0 && s.tree.Messages[at].Sampled {
			answer = at
		}
	}
	if onPath[c.at] {
		return d.ended > c.began
	}
	from := c.at // where c's branch begins
	for !onPath[int(s.tree.Messages[from].Parent)] {
		from = int(s.tree.Messages[from].Parent)
	}
	common := s.tree.Messages[from].Parent
	compacted := false
	for at := d.at; at >= 0 && at != int(common); at = int(s.tree.Messages[at].Parent) {
		compacted = compacted || s.tree.Messages[at].Branch == tree.BranchCompaction
	}
	return d.ended > c.ended && (compacted || answer >= 0 && answer < from)
}
