package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

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
