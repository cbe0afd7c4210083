package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// The bands of a mean ratio: within the strict one two engines agree, and a mean that
// is more than loose from 1 trains another policy than the one that sampled
// (AI-Hypercomputer/maxtext#5231).
const (
	Loose                 = 0.01
	strictLow, strictHigh = 0.999, 1.002
	enough                = 1000 // tokens of a class, under which its mean says little
)

// mismatchColumns say what the tokens of a base are.
var mismatchColumns = []string{"trajectory_id", "policy_version", "messages.logprobs", "messages.tool_calls", "messages.call",
	"calls.policy_version", "calls.prompt_tokens", "calls.endpoint"}

// mismatched compares the signals of the named reward with the base.
func (a *auditor) mismatched(ctx context.Context, d *dataset.Dataset) error {
	if a.Mismatch == "" || d.Kind != schema.KindScores {
		return nil
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return err
	}
	r, err := dataset.NewReaderOf[formats.Trajectory](ctx, base, base.All(), mismatchColumns)
	if err != nil {
		return err
	}
	defer r.Close()
	next, stop := iter.Pull2(r.Each(batch))
	defer stop()
	type scored struct {
		TrajectoryID string           `parquet:"trajectory_id"`
		Signals      []formats.Signal `parquet:"signals,optional,list"`
	}
	all := mismatches{}
	for s, err := range dataset.Each[scored](ctx, d, "", d.All()) {
		t, bad, more := next()
		if err := errors.Join(err, bad); err != nil {
			return err
		}
		if !more || t.TrajectoryID != s.TrajectoryID {
			return fault.Invalid(d.URI(), "score the trajectories again", nil,
				"trajectory %q is not that of its base's row", s.TrajectoryID)
		}
		for _, said := range s.Signals {
			if said.Component == a.Mismatch && int(said.Message) < len(t.Messages) {
				all.add(t, int(said.Message), said.Values)
			}
		}
	}
	a.reportMismatch(d, all.sorted(d.URI()))
	return nil
}

func (a *auditor) reportMismatch(d *dataset.Dataset, all []Mismatch) {
	a.out.Mismatches = append(a.out.Mismatches, all...)
	var broken, slight []validate.Finding
	for i, m := range all {
		f := validate.Finding{What: fmt.Sprintf("%s: mean ratio %.5f over %d tokens, KL %.2g, of reward %q to what was recorded", m.Of, m.Ratio,
			m.Tokens, m.KL, a.Mismatch)}
		switch far := math.Abs(m.Ratio-1) > Loose; {
		case i == 0 && far:
			broken = append(broken, f)
		case i == 0 && (m.Ratio < strictLow || m.Ratio > strictHigh), far && m.Tokens >= enough:
			slight = append(slight, f)
		}
	}
	a.findIn(d, checkMismatch, broken)
	a.findIn(d, checkMismatchSlight, slight)
}

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
