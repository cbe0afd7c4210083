package validate

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
)

// unequal reports whether a message has another number of logprobs than of token ids.
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
	if OnlyTokens(r.Trajectory) {
		return // no_text says so
	}
	last := r.shows()
	r.trained(func(i int, m *formats.Message) bool {
		said := m.Content != "" || m.ContentParts != "" || len(m.ToolCalls) > 0 || m.Reasoning != "" && i != last.last
		if !said {
			c.Add(r, "", "message %d", i)
		}
		return said
	})
}

// OnlyTokens reports whether a row has token ids, and no message with text or calls.
func OnlyTokens(t *formats.Trajectory) bool {
	has := false
	for i := range t.Messages {
		if !silent(&t.Messages[i]) {
			return false
		}
		has = has || len(t.Messages[i].TokenIDs) > 0
	}
	return has
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

// clampedLogprobs counts low logprobs that are exactly equal: they were clamped, not measured.
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

// promptTokens compares the prompt ids of each sampled message, which are its
// ancestors' ids and prompt_delta_ids, with the number of prompt tokens that
// the engine counted. A history that was tokenized again has other ids, and
// nearly always another number of them.
func promptTokens(c *Count, r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	lengths := make([]int, len(t.Messages)) // of each message's prompt and its own ids; -1 unknown
	for i := range t.Messages {
		m := &t.Messages[i]
		if !m.Sampled {
			continue
		}
		prompt := promptLength(t, lengths, i)
		if lengths[i] = -1; prompt < 0 || len(m.TokenIDs) == 0 && !m.NoTokens() {
			continue
		}
		lengths[i] = prompt + len(m.TokenIDs)
		if m.Call < 0 || int(m.Call) >= len(t.Calls) || t.Calls[m.Call].PromptTokens == 0 {
			continue
		}
		c.Of++
		if counted := int(t.Calls[m.Call].PromptTokens); counted != prompt {
			c.Add(r, "", "message %d: the ids before it are %d, the engine counted %d", i, prompt, counted)
		}
	}
}

// promptLength returns the number of ids in the prompt of a sampled message; -1
// when some are missing.
func promptLength(t *formats.Trajectory, lengths []int, i int) int {
	m := &t.Messages[i]
	if m.PromptDeltaIDs == nil {
		return -1
	}
	for p := m.Parent; m.PrefixBreak == "" && p >= 0 && int(p) < i; p = t.Messages[p].Parent {
		if t.Messages[p].Sampled {
			if lengths[p] < 0 {
				return -1
			}
			return lengths[p] + len(m.PromptDeltaIDs)
		}
	}
	return len(m.PromptDeltaIDs)
}

// answerTokens compares the sampled ids and logprobs of each call with the
// number of completion tokens that the engine counted.
func answerTokens(c *Count, r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	kept := make([]int, len(t.Calls))
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Sampled && m.Call >= 0 && int(m.Call) < len(kept) {
			kept[m.Call] += max(len(m.TokenIDs), len(m.Logprobs))
		}
	}
	for i := range t.Candidates {
		a := &t.Candidates[i]
		if a.Call != nil && *a.Call >= 0 && int(*a.Call) < len(kept) {
			kept[*a.Call] += max(len(a.TokenIDs), len(a.Logprobs))
		}
	}
	for i := range t.Calls {
		call := &t.Calls[i]
		if !call.Target || call.Error != "" || call.CompletionTokens == 0 || kept[i] == 0 {
			continue
		}
		c.Of++
		if kept[i] != int(call.CompletionTokens) {
			c.Add(r, "", "call %d: %d ids are recorded, the engine counted %d", i, kept[i], call.CompletionTokens)
		}
	}
}

// LogprobFloor is what vLLM writes for a log probability of minus infinity,
// which JSON cannot represent.
const LogprobFloor = -9999

// Floored returns the index of the first log probability that is NaN or at or
// below the floor; -1 when all are valid. The engine writes such a value when
// it does not know the log probability, so a ratio that a trainer computes from
// it is meaningless.
func Floored(logprobs []float32) int {
	for i, p := range logprobs {
		if !(p > LogprobFloor && p <= math.MaxFloat32) {
			return i
		}
	}
	return -1
}
