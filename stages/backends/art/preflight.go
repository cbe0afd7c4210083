package art

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
)

// Preflight refuses a server that cannot train, then checks every row and
// counts the bytes to send.
func (t *Trainer) Preflight(ctx context.Context, groups backends.Groups,
	report func(backends.Problem)) (backends.BatchStats, error) {
	d, err := t.trainable(ctx)
	if err != nil {
		return backends.BatchStats{}, err
	}
	stats := backends.BatchStats{Bytes: int64(len(t.head()) + len(tail)),
		Checks: append(slices.Clip(art.Reasons), exporters.MessageCredit)}
	drift := art.Drift{Scale: t.cfg.scales()}
	sound := true
	var buf []byte
	for rows, err := range groups {
		if err != nil {
			return stats, err
		}
		refuse := func(p backends.Problem) {
			sound = false
			report(p)
		}
		backends.CheckCredit(art.Exporter, rows, refuse)
		sequences, tokens := art.Check(rows, t.cfg.limits(d), func(p art.Problem) { refuse(backends.Problem(p)) })
		stats.Groups++
		stats.Trajectories += int64(len(rows))
		stats.Sequences += sequences
		stats.Tokens += tokens
		drift.Add(rows)
		if sound {
			buf = shape(d.plain())(buf[:0], rows)
			stats.Bytes += int64(len(buf)) + 1
		}
	}
	if stats.Groups > 0 {
		stats.Bytes-- // one comma fewer than groups
	}
	stats.Notes = drift.Notes()
	if beta := t.cfg.Training.Beta; d.Frontend && beta != nil && *beta > 0 && t.cfg.Training.KLPenalty == nil {
		stats.Notes = append(stats.Notes,
			"servers from 0.5.12 on ignore beta; they know kl_penalty_coef, of the training and of dev_config")
	}
	if d.plain() {
		stats.Notes = append(stats.Notes,
			"this server trains on the text alone: it is tokenized again, and neither the token ids nor the logprobs of "+
				"what was sampled count")
	}
	return stats, nil
}
