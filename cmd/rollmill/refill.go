package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

var refillCommand = cli.Command{
	Name:     "refill",
	Heading:  settings.StagesHeading,
	Usage:    "sample more attempts while too few groups give a training signal",
	Required: "--config, a file with sections rollout, score, group and curate; --root and --epoch",
	About: `Dynamic sampling: while curate keeps fewer than --target-groups groups, the
examples that its plan names are attempted again with the same policy, and the
epoch is scored, grouped and curated again, up to --refill-rounds times. Only
what is missing is sampled and scored. A round is the folder extended in the
folder of the one before: epoch-3/extended/{rollout,score,group,curate}. The
URI of the last curated dataset is printed; submit --epoch reads it as well, and so
does the curate of the next epoch. It runs between curate and submit; train does the
same in its process. If it is killed, the same command continues.

  rollmill refill --config rollmill.yaml --root runs/demo --epoch 3 --refill-rounds 2 --target-groups 40`,
	Body: cli.With(newRefillSettings, runRefill),
}

type refillSettings struct {
	Epoch *int
	train.Refill
	settings.RunPlace
	settings.Monitored
}

func newRefillSettings() *refillSettings { return &refillSettings{} }

func (c *refillSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.OptionalInt(&c.Epoch, "epoch", "refill epoch `N`, from 0").Min(0).Common()
	d.Include(&c.Refill)
	d.Include(&c.RunPlace)
	d.Include(&c.Monitored)
}

// refilled is the result of refill.
type refilled struct {
	URI    string                   `json:"uri"` // the curated dataset of the last round
	Stages map[string]stages.Report `json:"stages"`
}

func runRefill(ctx context.Context, s *cli.Session, c *refillSettings) error {
	if c.Epoch == nil {
		return cli.Usagef("refill runs in an epoch whose curate is complete", "no --epoch")
	}
	run, root := c.Both()
	o, err := stageOptions(ctx, s, root, func(r *rolloutSettings) {
		r.RunPlace.Run, r.RunPlace.Root, r.Options.Epoch = run, root, c.Epoch
	})
	if err != nil {
		return err
	}
	o.Refill = c.Refill
	if o.Rollout.Epoch, o.Rollout.KeepAgent = nil, true; o.Rollout.Agent != nil {
		defer o.Rollout.CloseAgent()
	}
	c.Place(s, c.Epoch, false)
	o.Env = s.Env()
	o.StageDone = func(_ int, r stages.Report) { s.Say("%s", settings.Summary(r)) }
	out := refilled{Stages: map[string]stages.Report{}}
	if out.URI, err = o.Again(ctx, *c.Epoch, o.Rollout.Policy, out.Stages); err != nil {
		return err
	}
	return s.Result(out.URI, out)
}
