package validate

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// traits are what one pass over the messages of a trajectory shows. A message is given
// by its index, and is -1 when there is none.
type traits struct {
	assistant, system bool // some message has such a role
	calls, parts      bool // some message has tool calls, or content that is not text
	foreign           bool // some assistant message is not trained
	branched          bool // some message does not continue the one before it
	lost              bool // the ids before the message that was looked at last are not all known

	trained  int // messages
	logprobs int // of them with logprobs

	last           int // the last message that is trained
	noIDs          int // the first without token ids
	noLogprobs     int // the first, if none has logprobs
	partlyLogprobs int // the first without logprobs, if another has some
	noPrompt       int // the first with token ids whose prompt's ids are unknown
	unequal        int // the first with another number of logprobs than of token ids
}

// shows returns the traits of a valid wide row, or nil.
func (r *Row) shows() *traits {
	t := r.wide()
	if t == nil {
		return nil
	}
	if !r.hasTraits {
		r.traits, r.hasTraits = traitsOf(t), true
	}
	return &r.traits
}

func traitsOf(t *formats.Trajectory) traits {
	s := traits{last: -1, noIDs: -1, noLogprobs: -1, partlyLogprobs: -1, noPrompt: -1, unequal: -1}
	for i := range t.Messages {
		m, trained := &t.Messages[i], t.Trained(i)
		switch m.Role {
		case "assistant":
			s.assistant = true
			s.foreign = s.foreign || !trained
		case "system", "developer":
			s.system = true
		}
		s.calls = s.calls || len(m.ToolCalls) > 0
		s.parts = s.parts || !chat.IsText(m)
		s.branched = s.branched || int(m.Parent) != i-1
		if known := m.TokenIDs != nil && m.PromptDeltaIDs != nil; m.Sampled && (!known || m.PrefixBreak != "") {
			s.lost = !known
		}
		if trained {
			s.train(i, m)
		}
	}
	if s.logprobs > 0 {
		s.noLogprobs, s.partlyLogprobs = -1, s.noLogprobs
	}
	return s
}

// train adds a trained message.
func (s *traits) train(i int, m *formats.Message) {
	first := func(at *int, is bool) {
		if is && *at < 0 {
			*at = i
		}
	}
	s.trained++
	s.last = i
	if m.NoTokens() {
		return
	}
	if len(m.Logprobs) > 0 {
		s.logprobs++
	}
	first(&s.noIDs, len(m.TokenIDs) == 0)
	first(&s.noLogprobs, len(m.Logprobs) == 0)
	first(&s.noPrompt, len(m.TokenIDs) > 0 && (m.PromptDeltaIDs == nil || s.lost && !s.branched))
	first(&s.unequal, unequal(m))
}
