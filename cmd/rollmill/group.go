package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
)

var groupCommand = cli.Command{
	Name:     "group",
	Heading:  settings.StagesHeading,
	Usage:    "form groups by example and compute advantages",
	Required: "--in, or --root and --epoch",
	About: `All trajectories of one example in one epoch form a group. Failed and unscored
trajectories are excluded, never scored as 0: their advantage is null, and they
do not change the advantages of others. The rows of a group may be anywhere in
the dataset; rows that are not adjacent are sorted on disk.

  rollmill group --in runs/demo/epoch-0/score --compat art
  rollmill group --in runs/demo/epoch-0/score --scores runs/demo/epoch-0/judged --out runs/demo/epoch-0/group

To compare estimators, group twice, and let diff compare the advantages:

  rollmill group --in runs/demo/epoch-0/score --estimator rloo --out runs/demo/epoch-0/rloo
  rollmill diff runs/demo/epoch-0/group runs/demo/epoch-0/rloo`,
	Body: cli.With(newGroupSettings, runGroup),
}

// groupSettings are the settings of group, with its input and output.
type groupSettings struct {
	group.Options
	settings.Stage
	Scores []string
	settings.Spilling
}

func newGroupSettings() *groupSettings {
	return &groupSettings{
		Options: group.Options{Estimator: plugin.Pick(estimators.All, group.DefaultEstimator)},
		Stage: settings.Stage{Source: settings.Source{Does: "read scores, or trajectories with rewards,"},
			Target: settings.Target{Otherwise: "the sibling \"group\" of the input"}},
		Spilling: settings.Spilling{What: "groups whose rows are not adjacent"},
	}
}

func (g *groupSettings) Declare(d *plugin.Declarer) {
	g.DeclareInput(d)
	d.Strings(&g.Scores, "scores",
		"add the rewards of the scores at this `URI`, of the same trajectories, to those of the input, and "+
			"recompute the total").Common()
	d.Include(&g.Options)
	d.Include(&g.Spilling)
	g.DeclareOutput(d)
}

func runGroup(ctx context.Context, s *cli.Session, g *groupSettings) (err error) {
	o := g.Options
	if o.In, o.Out, err = g.Places(ctx, s, g.Epoch, false); err != nil {
		return err
	}
	o.Env, o.Spill = s.Env(), g.Limits()
	if o.Pairs.Mode != "" || o.Labels { // which read messages
		settings.CollectEarly()
	} else {
		defer settings.CollectEvenly(128 << 20)()
	}
	for _, uri := range g.Scores {
		o.Scores = append(o.Scores, stages.Input{URI: uri, AcceptGates: o.In.AcceptGates})
	}
	r, err := group.Run(ctx, o)
	return settings.FinishStage(s, r, r, err)
}
