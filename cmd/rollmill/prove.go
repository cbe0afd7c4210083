package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/pipelines/prove"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var proveCommand = cli.Command{
	Name:    "prove",
	Heading: settings.LookHeading,
	Usage:   "recompute an epoch's numbers and report the first difference",
	About: `Recomputes the scores, the groups, the curated rows and the sequences of an epoch
from the stored rollouts, and compares every number with the stored one: rewards,
advantages, weights, the receipt's counts, and the loss in what the trainer gave
back (submit --echo). It needs no engine, no trainer and no GPU, and may run years
later. It cannot recompute the answers of models; the output says so.

  rollmill prove runs/demo/epoch-3 --programs

The exit code is 4 if a number differs, or if nothing could be recomputed. explain
shows which steps trained a row:

  rollmill explain 3f8a2c --in runs/demo`,
	Args:        "EPOCH",
	Folders:     true,
	ArgSettings: []string{"in"},
	Scans:       true,
	Body: cli.With(func() *proveSettings {
		return &proveSettings{Source: settings.Source{Does: "prove the epoch, the run or the dataset", Looks: true},
			Spilling: settings.Spilling{What: "what is made again"}}
	}, runProve),
}

type proveSettings struct {
	settings.Source
	Programs bool
	settings.Spilling
	settings.Monitored
}

func (o *proveSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.Source)
	d.Heading(plugin.Execution)
	d.Bool(&o.Programs, "programs",
		"run the reward programs that the datasets name: only for data that you trust").Common()
	d.Include(&o.Spilling)
	d.Include(&o.Monitored)
}

func runProve(ctx context.Context, s *cli.Session, o *proveSettings) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	sequences, err := exportFormats.File("sequences.parquet")
	if err != nil {
		return err
	}
	env := s.Env()
	r, err := prove.Run(ctx, prove.Options{URI: in.URI, Programs: o.Programs, Dir: o.Dir, Sequences: sequences,
		Ledger: func(ctx context.Context, r *find.Receipt) ([]submit.Listed, error) {
			uri, err := new(jobSettings).ledgerURI(ctx, r.URI, &r.Receipt) // of a copy, the original's
			if err != nil {
				return nil, err
			}
			ledger, err := storage.Open(ctx, uri)
			if err != nil {
				return nil, err
			}
			return submit.List(ctx, ledger, settings.Names(ledger), env.Clock)
		},
		Stages: prove.Stages{
			Score:  func() score.Options { return newScoreSettings().Options },
			Group:  func() group.Options { return newGroupSettings().Options },
			Curate: func() curate.Options { return newCurateSettings().Options },
			Spill:  o.Limits(),
		}})
	if err != nil {
		return err
	}
	if err := s.Print(r, r.WriteText); err != nil || r.Equal {
		return err
	}
	return cli.Exit{Code: cli.ExitInput, What: r.Verdict()}
}
