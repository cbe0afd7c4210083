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
