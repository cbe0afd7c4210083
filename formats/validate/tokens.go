package validate

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

// unequal reports whether a message has another number of logprobs than of token
// ids.
func unequal(m *formats.Message) bool {
	return len(m.TokenIDs) > 0 && len(m.Logprobs) > 0 && len(m.TokenIDs) != len(m.Logprobs)
}

// ofTokens returns a check of what the trained messages have recorded: missing
// returns the first message with the fault, or -1.
func ofTokens(missing func(*traits) int) func(*Count, *Row) {
	return ofWide(func(c *Count, r *Row, _ *formats.Trajectory) {
		if i := missing(r.shows()); i >= 0 {
			c.Add(r, "", "message %d", i)
		}
	})
}

func untrained(c *Count, r *Row, t *formats.Trajectory) {
	if r.shows().trained == 0 {
		c.Add(r, "", "%d calls", len(t.Calls))
	}
}

func severalAnswers(c *Count, r *Row) {
	if has := r.shows(); has != nil && has.trained > 1 {
		c.Add(r, "", "%d messages", has.trained)
	}
}

// emptyAnswer counts rows with an answer that says nothing and calls nothing: the last
// one, whatever the model thought before it, and others without a thought.
func emptyAnswer(c *Count, r *Row) {
	last := r.shows()
	r.trained(func(i int, m *formats.Message) bool {
		said := m.Content != "" || m.ContentParts != "" || len(m.ToolCalls) > 0 || m.Reasoning != "" && i != last.last
		if !said {
			c.Add(r, "", "message %d", i)
		}
		return said
	})
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
