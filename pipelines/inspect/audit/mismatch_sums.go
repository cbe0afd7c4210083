package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Mismatch is how far the log probabilities that an engine recorded are from those that another
// one, or another precision, gives the same tokens. The ratio of a token is exp(other -
// recorded): the importance weight that a trainer will see before its first step.
type Mismatch struct {
	URI    string  `json:"uri"` // of the scores
	Of     string  `json:"of"`  // the tokens: all, a class, a range of positions, a policy version, an engine
	Tokens int64   `json:"tokens"`
	Ratio  float64 `json:"ratio"` // mean
	KL     float64 `json:"kl"`    // mean of ratio - 1 - log ratio, in nats: an estimate of KL(recorded, other) that is never negative
	Worst  float64 `json:"worst"` // the largest |log ratio|, in nats

	order int
}

// mismatches are sums over tokens, by what they are of.
type mismatches map[string]*Mismatch

// add compares the tokens of a message.
func (all mismatches) add(t *formats.Trajectory, message int, other []float32) {
	m := &t.Messages[message]
	if m.Call < 0 || int(m.Call) >= len(t.Calls) || len(m.Logprobs) != len(other) {
		return
	}
	call := &t.Calls[m.Call]
	for n := range other {
		log := float64(other[n]) - float64(m.Logprobs[n])
		all.count("all", 0, log)
		switch {
		case n == len(other)-1:
			all.count("last token of a message", 3, log)
		case len(m.ToolCalls) > 0:
			all.count("in a message with tool calls", 2, log)
		default:
			all.count("in a message of text", 1, log)
		}
		at := int(call.PromptTokens) + n
		low := 0
		for next := 512; at >= next; next *= 4 {
			low = next
		}
		all.count(fmt.Sprintf("position %d and later", low), 4+low, log)
		if version := cmp.Or(call.PolicyVersion, t.PolicyVersion); version != nil {
			all.count(fmt.Sprintf("policy version %d", *version), math.MaxInt/2-int(*version), log)
		}
		if call.Endpoint != "" {
			all.count("engine "+call.Endpoint, math.MaxInt/2+1, log)
		}
	}
}

func (all mismatches) count(of string, order int, log float64) {
	m := all[of]
	if m == nil {
		m = &Mismatch{Of: of, order: order}
		all[of] = m
	}
	ratio := math.Exp(log)
	m.Tokens++
	m.Ratio += ratio
	m.KL += ratio - 1 - log
	m.Worst = max(m.Worst, math.Abs(log))
}

// sorted returns the means: of all tokens first, and the newest policy version before
// older ones.
func (all mismatches) sorted(uri string) (out []Mismatch) {
	for _, m := range all {
		m.URI, m.Ratio, m.KL = uri, m.Ratio/float64(m.Tokens), m.KL/float64(m.Tokens)
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Mismatch) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Of, b.Of)) })
	return out
}
