package art

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	wire "github.com/rollmill/rollmill/formats/art"
)

// Preflight refuses a server that cannot train, then checks every row and
// counts the bytes that will travel.
func (t *Trainer) Preflight(ctx context.Context, groups formats.Groups, report func(formats.Problem)) (formats.Load, error) {
	d, err := t.detect(ctx)
	if err == nil {
		err = d.refuse(t.base, t.cfg.textAlone())
	}
	if err != nil {
		return formats.Load{}, err
	}
	return t.preflight(groups, d, report)
}

func (t *Trainer) preflight(groups formats.Groups, d dialect, report func(formats.Problem)) (formats.Load, error) {
	load := formats.Load{Bytes: int64(len(t.head()) + len(tail)), Checks: wire.Reasons}
	drift := wire.Drift{Scale: t.cfg.scales()}
	sound := true
	var buf []byte
	for rows, err := range groups {
		if err != nil {
			return load, err
		}
		wire.Check(rows, t.cfg.limits(d), &load, func(p formats.Problem) { sound = false; report(p) })
		drift.Add(rows)
		if sound {
			buf = shape(d.plain())(buf[:0], rows)
			load.Bytes += int64(len(buf)) + 1
		}
	}
	if load.Groups > 0 {
		load.Bytes-- // one comma less than groups
	}
	load.Notes = drift.Notes()
	if beta := t.cfg.Training.Beta; d.Frontend && beta != nil && *beta > 0 && t.cfg.Training.KLPenalty == nil {
		load.Notes = append(load.Notes, "servers from 0.5.12 on ignore beta; they know kl_penalty_coef, of the training and of dev_config")
	}
	if d.plain() {
		load.Notes = append(load.Notes, "this server trains on the text alone: it is tokenized anew, and neither the token ids nor the logprobs of what was sampled count")
	}
	return load, nil
}
