package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/stages"
)

// tellMonitors gives the figures of a finished run to the monitors that keep those of every
// epoch. An error ends the monitor, not the command.
func tellMonitors(ctx context.Context, s *cli.Session, o *reportSettings, run history.Run) error {
	for _, settings := range o.Monitors() {
		m, err := settings.Open(monitors.Job{Command: s.Command, Log: s.Logger()})
		if err != nil {
			return err
		}
		if keeper, ok := m.(monitors.Keeper); ok {
			if err := tellMonitor(ctx, o, keeper, run.Epochs); err != nil {
				s.Logger().Warn("a monitor failed; the report goes on", "monitor", m.Name(), "error", err)
			}
		}
	}
	return nil
}

func tellMonitor(ctx context.Context, o *reportSettings, m monitors.Keeper, epochs []history.Epoch) error {
	name, root := o.Both()
	for _, e := range epochs {
		name = cmp.Or(e.RunID, name)
		list, err := history.Stages(ctx, root, e.Epoch)
		if err != nil {
			return err
		}
		for _, d := range list {
			f := monitors.Figures{At: e.Time, Report: &stages.Report{Stage: d.Stage, URI: d.URI(), Identity: d.Identity,
				UpToDate: true, Sealed: true, Rows: d.Rows, Counts: d.Counts, Drops: d.Drops, Failures: d.Failures,
				Facts: d.Facts}}
			f.Place = stages.Place{Run: name, Epoch: &e.Epoch, Validation: strings.HasPrefix(d.Name, "validation/")}
			if err := m.Update(ctx, f); err != nil {
				return err
			}
			if d.Kind != schema.KindScores {
				continue
			}
			if f.Rewards, err = rewardsOf(ctx, d.Dataset); err == nil {
				err = m.Distribution(ctx, f)
			}
			if err != nil {
				return err
			}
		}
		if e.Receipt != nil && len(e.Receipt.Metrics) > 0 {
			f := monitors.Figures{Report: &stages.Report{Stage: "submit", Rows: e.Receipt.Trajectories,
				Facts: e.Receipt.Metrics, UpToDate: true}, At: e.Time}
			f.Place = stages.Place{Run: name, Epoch: &e.Epoch}
			if err := m.Update(ctx, f); err != nil {
				return err
			}
		}
	}
	return m.Close(ctx, monitors.End{At: time.Now()})
}

// rewardsOf returns the rewards of scored trajectories.
func rewardsOf(ctx context.Context, d *dataset.Dataset) ([]float64, error) {
	type column struct {
		Reward *float64 `parquet:"reward,optional"`
	}
	var out []float64
	err := history.Each(ctx, d, "", func(_ int64, r *column) {
		if r.Reward != nil {
			out = append(out, *r.Reward)
		}
	})
	return out, err
}
