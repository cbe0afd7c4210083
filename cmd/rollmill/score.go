package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
)

var scoreCommand = cli.Command{
	Name:    "score",
	Heading: stagesHeading,
	Usage:   "compute named rewards from stored trajectories",
	Needs:   "--in, or --root and --epoch; at least one --reward",
	About: `A reward is a finite number, or null with the reason; a failed trajectory is
never scored. If the input is scores instead of trajectories, their named rewards
are kept and the total is recomputed.

  rollmill score --in runs/demo/epoch-0/rollout --reward 'tree=command:./bin/tictactoe reward'
  rollmill score --in DATASET --reward 'exact*0.5=match:exact' --reward 'short=expr:len(answer) < 100 ? 1 : 0'
  rollmill score --in SCORES --only failed --out SCORES-2

A reward is NAME[*WEIGHT]=KIND:ARGUMENTS; without *WEIGHT its weight is 1.

Parquet files that no stage wrote are read without an import if they have columns
with our names. Put their name in quotes; --out is then "score" in their folder:

  rollmill score --in 'data/*.parquet' --reward 'exact=match:exact'`,
	Body: cli.With(newScoreSettings, runScore),
}

// scoreSettings are the settings of score, with its input and output.
type scoreSettings struct {
	score.Options
	Only       []string
	From       string
	Validation bool
	Epoch      *int
	judges     judgeSettings
	runPlace
	source
	target
	monitored
}

func newScoreSettings() *scoreSettings {
	return &scoreSettings{
		Options: score.Options{Registry: rewards.All},
		source:  source{what: "trajectories, or scores to keep and add to,"},
		target:  target{otherwise: "the sibling \"score\" of the input"},
	}
}

func (c *scoreSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.source)
	d.Include(&c.Options)
	d.Heading(plugin.Rows)
	d.Strings(&c.Only, "only",
		"compute only `WHAT`: missing, failed, changed or a reward's name; other rewards are copied from --from").Common()
	d.String(&c.From, "from",
		"copy rewards from the scores at this `URI`, of the same trajectories or of those that they extend").
		Shown("the input, if it is scores")
	d.Bool(&c.Validation, validation,
		"score held-out examples; section validation of the config file overrides the command's own")
	d.Include(&c.judges)
	d.Heading(plugin.Input)
	d.OptionalInt(&c.Epoch, "epoch",
		"read and write in the folder of epoch `N` of --root, when --in names no dataset").Common()
	d.Include(&c.runPlace)
	d.Include(&c.target)
	d.Include(&c.monitored)
}

func runScore(ctx context.Context, s *cli.Session, c *scoreSettings) error {
	o := c.Options
	var err error
	if o.In, err = c.runPlace.input(s, c.source, c.Epoch, c.Validation); err != nil {
		return err
	}
	if o.Out, err = c.target.openSibling(s, o.In.URI); err != nil {
		return err
	}
	if o.Judging, err = c.judges.open(ctx, o.Out.URI); err != nil {
		return err
	}
	o.Only = c.Only
	o.From = stages.Input{URI: c.From, AcceptGates: o.In.AcceptGates}
	c.place(s, c.Epoch, c.Validation)
	o.Env = s.Env()
	defer collectEvenly()()
	r, err := score.Run(ctx, o)
	return finishStage(s, r, r, err)
}
