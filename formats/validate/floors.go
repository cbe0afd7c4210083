package validate

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
)

type logprobFloors struct{ Count }

func newLogprobFloors() Checker { return &logprobFloors{} }

func (c *logprobFloors) Row(r *Row) {
	r.trained(func(i int, m *formats.Message) bool {
		c.Of++
		if k := Floored(m.Logprobs); k >= 0 {
			c.Add(r, "", fmt.Sprintf("messages[%d].logprobs[%d] is %g", i, k, m.Logprobs[k]))
		}
		return true
	})
}

func (c *logprobFloors) Found() []Finding {
	return c.Over(0, "answers have placeholders for missing logprobs")
}

// repeatedLow counts low logprobs that are exactly equal: they were clamped,
// not measured.
type repeatedLow struct {
	Count
	seen map[float32]int64
}

const (
	lowLogprob = -10   // lower logprobs are rare
	maxSeen    = 10000 // different low values that are remembered
	clamped    = 5     // occurrences of one value
)

func newRepeatedLow() Checker { return &repeatedLow{seen: map[float32]int64{}} }

func (c *repeatedLow) Row(r *Row) {
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
				c.Add(r, fmt.Sprint(p), fmt.Sprintf("messages[%d].logprobs[%d]", i, k))
			}
		}
		return true
	})
}

func (c *repeatedLow) Found() []Finding {
	return c.Over(0, "low logprobs repeat to the last bit: they were clamped")
}
