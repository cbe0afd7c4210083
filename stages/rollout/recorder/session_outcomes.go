package recorder

import (
	"cmp"
	"slices"

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
