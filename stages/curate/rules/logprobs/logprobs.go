// Package logprobs refuses trajectories whose sampled tokens' log
// probabilities cannot be trained on: missing, not one for each token id, NaN,
// infinite or above 0, at or under a floor (an engine writes -9999 for what it
// does not know; others have other floors), or raw at a temperature other than 1, where they are not those of
// the distribution that was sampled. An engine's logprobs count as raw unless
// it was found to give processed ones (column calls.logprobs_mode).
package logprobs

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "logprobs",
	Help:    "drop trajectories without sound log probabilities",
	Reasons: []string{formats.DropLogprobs},
	New: func(o curate.Options) (curate.Rule, error) {
		if !o.CheckLogprobs {
			return nil, nil
		}
		r := rule{anyTemperature: o.AnyTemperature, floor: curate.DefaultLogprobFloor}
		if o.LogprobFloor != nil {
			r.floor = *o.LogprobFloor
		}
		return r, nil
	},
}

type rule struct {
	anyTemperature bool
	floor          float64
}

func (c rule) Rows(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(rows))
	for i, r := range rows {
		if detail := c.trouble(r.Trajectory); detail != "" {
			verdicts[i] = curate.Verdict{Reason: formats.DropLogprobs, Detail: detail}
		}
	}
	return verdicts
}

// trouble is the first thing that is wrong.
func (c rule) trouble(t *formats.Trajectory) string {
	trained := 0
	for i := range t.Messages {
		if !t.Trained(i) {
			continue
		}
		trained++
		m := &t.Messages[i]
		what := ""
		switch {
		case len(m.TokenIDs) == 0:
			what = "token ids are missing"
		case len(m.Logprobs) == 0:
			what = "log probabilities are missing"
		case len(m.Logprobs) != len(m.TokenIDs):
			what = fmt.Sprintf("%d log probabilities for %d tokens", len(m.Logprobs), len(m.TokenIDs))
		default:
			what = c.values(m.Logprobs)
		}
		if what == "" && !c.anyTemperature {
			what = temperature(&t.Calls[m.Call])
		}
		if what != "" {
			return fmt.Sprintf("message %d: %s", i, what)
		}
	}
	if trained == 0 {
		return "it has no sampled message"
	}
	return ""
}

func (c rule) values(list []float32) string {
	for i, p := range list {
		switch x := float64(p); {
		case math.IsNaN(x):
			return fmt.Sprintf("the log probability of token %d is NaN", i)
		case math.IsInf(x, 0):
			return fmt.Sprintf("the log probability of token %d is infinite", i)
		case p > 0:
			return fmt.Sprintf("the log probability of token %d is above 0", i)
		case x <= c.floor:
			return fmt.Sprintf("the log probability of token %d is %v, at or under the floor", i, p)
		}
	}
	return ""
}

func temperature(c *formats.Call) string {
	if t, raw := c.RawTemperature(); raw {
		return fmt.Sprintf("log probabilities are raw at temperature %g", t)
	}
	return ""
}
