package recorder

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats/outcomes"
)

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
