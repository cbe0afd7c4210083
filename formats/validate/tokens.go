package validate

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// tokens is what the messages of a trajectory that are trained have recorded. A
// message is given by its index, and is -1 when there is none.
type tokens struct {
	trained  int // messages
	logprobs int // of them with logprobs

	last       int // the last message that is trained
	noIDs      int // the first without token ids
	noLogprobs int // the first without logprobs
	noPrompt   int // the first with token ids whose prompt's ids are unknown
	unequal    int // the first with another number of logprobs than of token ids
}

// recorded returns what the trained messages of a valid wide row have recorded, or
// nil.
func (r *Row) recorded() *tokens {
	t := r.wide()
	if t == nil {
		return nil
	}
	if !r.hasTokens {
		r.tokens, r.hasTokens = tokensOf(t), true
	}
	return &r.tokens
}

func tokensOf(t *formats.Trajectory) tokens {
	has := tokens{last: -1, noIDs: -1, noLogprobs: -1, noPrompt: -1, unequal: -1}
	first := func(at *int, i int, is bool) {
		if is && *at < 0 {
			*at = i
		}
	}
	for i := range t.Messages {
		if !t.Trained(i) {
			continue
		}
		m := &t.Messages[i]
		has.trained++
		has.last = i
		if len(m.Logprobs) > 0 {
			has.logprobs++
		}
		first(&has.noIDs, i, len(m.TokenIDs) == 0)
		first(&has.noLogprobs, i, len(m.Logprobs) == 0)
		first(&has.noPrompt, i, len(m.TokenIDs) > 0 && m.PromptDeltaIDs == nil)
		first(&has.unequal, i, unequal(m))
	}
	return has
}

// unequal reports whether a message has another number of logprobs than of token
// ids.
func unequal(m *formats.Message) bool {
	return len(m.TokenIDs) > 0 && len(m.Logprobs) > 0 && len(m.TokenIDs) != len(m.Logprobs)
}

// ofTokens returns a check of what the trained messages have recorded: missing
// returns the first message with the fault, or -1.
func ofTokens(missing func(*tokens) int) func(*Count, *Row) {
	return func(c *Count, r *Row) {
		has := r.recorded()
		if has == nil {
			return
		}
		c.Of++
		if i := missing(has); i >= 0 {
			c.Add(r, "", "message %d", i)
		}
	}
}

func noLogprobs(has *tokens) int {
	if has.logprobs > 0 {
		return -1
	}
	return has.noLogprobs
}

func partialLogprobs(has *tokens) int {
	if has.logprobs == 0 {
		return -1
	}
	return has.noLogprobs
}

func noTokenIDs(has *tokens) int   { return has.noIDs }
func noPromptIDs(has *tokens) int  { return has.noPrompt }
func logprobCount(has *tokens) int { return has.unequal }

func untrained(c *Count, r *Row) {
	has := r.recorded()
	if has == nil {
		return
	}
	if c.Of++; has.trained == 0 {
		c.Add(r, "", "%d calls", len(r.Trajectory.Calls))
	}
}

func severalAnswers(c *Count, r *Row) {
	if has := r.recorded(); has != nil && has.trained > 1 {
		c.Add(r, "", "%d messages", has.trained)
	}
}

func emptyAnswer(c *Count, r *Row) {
	has := r.recorded()
	if has == nil || has.last < 0 {
		return
	}
	if m := &r.Trajectory.Messages[has.last]; m.Content == "" && m.ContentParts == "" && len(m.ToolCalls) == 0 {
		c.Add(r, "", "message %d", has.last)
	}
}

// logprobFloors counts answers with a logprob that is no number.
func logprobFloors(c *Count, r *Row) {
	r.trained(func(i int, m *formats.Message) bool {
		c.Of++
		if k := Floored(m.Logprobs); k >= 0 {
			c.Add(r, "", "messages[%d].logprobs[%d] is %g", i, k, m.Logprobs[k])
		}
		return true
	})
}

// clampedLogprobs counts low logprobs that are exactly equal: they were clamped,
// not measured.
type clampedLogprobs struct {
	Count
	seen map[float32]int64
}

const (
	lowLogprob = -10   // lower logprobs are rare
	maxSeen    = 10000 // different low values that are remembered
	clamped    = 5     // occurrences of one value
)

func newClamped() checker { return &clampedLogprobs{seen: map[float32]int64{}} }

func (c *clampedLogprobs) Row(r *Row) {
	r.trained(func(i int, m *formats.Message) bool {
		for k, p := range m.Logprobs {
			if p > lowLogprob || p <= LogprobFloor {
				continue
			}
			c.Of++
			if n, known := c.seen[p]; known || len(c.seen) < maxSeen {
				c.seen[p] = n + 1
			}
			if c.seen[p] == clamped {
				c.Add(r, fmt.Sprint(p), "messages[%d].logprobs[%d]", i, k)
			}
		}
		return true
	})
}
