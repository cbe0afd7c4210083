package main

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/pipelines/tidy"
	"github.com/rollmill/rollmill/stages/plugin"
)

var pruneCommand = cli.Command{
	Name:    "prune",
	Heading: settings.KeepHeading,
	Usage:   "remove what a run no longer needs: leftovers of killed commands, and old epochs by rule",
	About: `Prints what would be removed, with sizes and reasons; --apply removes it. Without
a rule, it removes only what killed commands left (journals of complete datasets,
parts and records that no manifest names, temporary files) and the parts that
compact replaced.

With a rule (--keep-epochs, --keep-every, --keep-best; an epoch that any of them
keeps is kept), older epochs lose the datasets of the stages in --drop, also those
in validation/ and extended/. The default, rollout, is most of the bytes: the
report's figures, explain and what was trained on stay. What is removed opens with
an error that says when and why. train continues a pruned run.

Never removed: the ledger, receipts, the policy, the newest epoch, an epoch whose
submission is not finished, and anything where a command is writing. An epoch that
was not curated, a curated dataset that was not submitted, and a dataset that one of
another epoch is based on are removed only with --force.

Commands that are reading a dataset when it is removed fail with that error. If
prune dies, the next prune finishes its work.

  rollmill prune runs/demo --keep-epochs 3
  rollmill prune runs/demo --keep-epochs 3 --keep-best 2 --apply`,
	Args:        "ROOT",
	ArgSettings: []string{"root"},
	Body: cli.With(func() *pruneSettings {
		return &pruneSettings{RunPlace: settings.RunPlace{Heading: plugin.Input},
			PruneOptions: tidy.PruneOptions{Drop: []string{"rollout"}, Grace: 24 * time.Hour}}
	}, runPrune),
}

type pruneSettings struct {
	settings.RunPlace
	tidy.PruneOptions
	Apply bool
}

func (o *pruneSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.RunPlace)
	d.Heading(plugin.Execution)
	d.Int(&o.KeepEpochs, "keep-epochs", "keep the last `N` epochs").Min(1)
	d.Int(&o.KeepEvery, "keep-every", "keep every `N`th epoch, from 0").Min(1)
	d.Int(&o.KeepBest, "keep-best",
		"keep the `N` epochs with the highest mean reward in validation, or in training if no epoch has a validation").
		Min(1)
	d.Strings(&o.Drop, "drop", "remove the datasets of this `STAGE` from other epochs: rollout, score, group or curate").
		DefaultShown("rollout")
	d.Duration(&o.Grace, "grace", "keep leftovers, and folders that a command began to write, for `TIME`").Min(0)
	d.Bool(&o.Workspaces, "workspaces", "remove what rollout --keep-workspace kept of attempts, and keep their rows")
	d.Bool(&o.Apply, "apply", "remove, instead of printing what would be removed")
	d.Bool(&o.Force, "force",
		"also remove datasets that others are based on or that curate or submit has not read, and what other commands began")
}

func runPrune(ctx context.Context, s *cli.Session, o *pruneSettings) error {
	var err error
	if o.PruneOptions.Root, err = o.Folder("prune ROOT"); err != nil {
		return err
	}
	o.Rewards = func(ctx context.Context) (map[int]float64, error) {
		run, err := report.Make(ctx, report.Options{Root: o.PruneOptions.Root, NoFiles: true})
		return run.MeanRewards(), err
	}
	plan, err := tidy.Look(ctx, o.PruneOptions)
	if err != nil {
		return err
	}
	if o.Apply {
		if err := plan.Apply(ctx); err != nil {
			return err
		}
	}
	return s.Print(plan, plan.WriteText)
}
