package main

import (
	"context"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators/all"
	"github.com/rollmill/rollmill/stages/plugin"
)

var groupCommand = command{
	name:    "group",
	heading: stagesHeading,
	usage:   "form groups by example and compute advantages",
	about: `All trajectories of one example in one epoch are a group. Failed and unscored
trajectories are excluded, never scored as 0: their advantage is null, and they
change no other. Rows of a group may lie anywhere in the dataset; where they are
apart, they are sorted on disk.

  rollmill group --in runs/demo/epoch-0/score --compat art
  rollmill group --in runs/demo/epoch-0/score --scores runs/demo/epoch-0/judged --out runs/demo/epoch-0/group`,
	body: with(newGroupSettings, runGroup),
}

// groupSettings are group's, with where it reads and writes.
type groupSettings struct {
	group.Options
	source
	Scores []string
	Epoch  *int
	runPlace
	spilling
	target
}

func newGroupSettings() *groupSettings {
	return &groupSettings{
		Options:  group.Options{Estimator: plugin.Pick(all.Estimators, group.DefaultEstimator)},
		source:   source{what: "scores, or trajectories with rewards,"},
		spilling: spilling{what: "groups that do not lie together"},
		target:   target{otherwise: "the sibling \"group\" of the input"},
	}
}

func (g *groupSettings) Declare(d *plugin.Declarer) {
	d.Include(&g.source)
	d.Heading(plugin.Input)
	d.Strings(&g.Scores, "scores", "join the rewards of the scores at this `URI` to those of the input, scores of the same trajectories, and sum the total again")
	d.OptionalInt(&g.Epoch, "epoch", "read and write in the folder of epoch `N` of --root, when --in names no dataset")
	d.Include(&g.Options)
	d.Include(&g.spilling)
	d.Include(&g.runPlace)
	d.Include(&g.target)
}

func runGroup(ctx context.Context, s *session, g *groupSettings) (err error) {
	o := g.Options
	if o.In, err = g.runPlace.input(s, g.source, g.Epoch, false); err != nil {
		return err
	}
	if o.Out, err = g.besides(s, o.In.URI); err != nil {
		return err
	}
	for _, uri := range g.Scores {
		o.Scores = append(o.Scores, stages.Input{URI: uri, AcceptGates: o.In.AcceptGates})
	}
	o.Env, o.Spill = s.stageEnv(), g.spill()
	smallHeap()
	r, err := group.Run(ctx, o)
	return s.finish(r, r, err)
}
