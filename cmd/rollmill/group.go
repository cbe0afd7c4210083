package main

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
)

var groupCommand = cli.Command{
	Name:    "group",
	Heading: stagesHeading,
	Usage:   "form groups by example and compute advantages",
	Needs:   "--in, or --root and --epoch",
	About: `All trajectories of one example in one epoch form a group. Failed and unscored
trajectories are excluded, never scored as 0: their advantage is null, and they
do not change the advantages of others. The rows of a group may be anywhere in
the dataset; rows that are not adjacent are sorted on disk.

  rollmill group --in runs/demo/epoch-0/score --compat art
  rollmill group --in runs/demo/epoch-0/score --scores runs/demo/epoch-0/judged --out runs/demo/epoch-0/group

With --compare it writes no dataset, and prints what estimators make of the scores:
how many advantages differ in sign, their rank correlation, and which groups have
the gradient mass, the sum of |advantage| times sampled tokens:

  rollmill group --in runs/demo/epoch-0/score --compare grpo,rloo,turns --simulate-n 4 --plot mass.svg`,
	Body: cli.With(newGroupSettings, runGroup),
}

// groupSettings are the settings of group, with its input and output.
type groupSettings struct {
	group.Options
	source
	Scores []string
	Epoch  *int
	group.Simulation
	Plot string
	runPlace
	spilling
	target
	monitored
}

func newGroupSettings() *groupSettings {
	return &groupSettings{
		Options:    group.Options{Estimator: plugin.Pick(estimators.All, group.DefaultEstimator)},
		Simulation: group.Simulation{Repeats: 20},
		source:     source{does: "read scores, or trajectories with rewards,"},
		spilling:   spilling{what: "groups whose rows are not adjacent"},
		target:     target{otherwise: "the sibling \"group\" of the input"},
	}
}

func (g *groupSettings) Declare(d *plugin.Declarer) {
	d.Include(&g.source)
	d.Heading(plugin.Input)
	d.Strings(&g.Scores, "scores",
		"add the rewards of the scores at this `URI`, of the same trajectories, to those of the input, and "+
			"recompute the total").Common()
	d.OptionalInt(&g.Epoch, "epoch",
		"read and write in the folder of epoch `N` of --root, when --in names no dataset").Common()
	d.Include(&g.Options)
	d.Heading("Comparison of estimators")
	d.Func(func() any { return g.Estimator.More }, func(names string) error {
		g.Estimator.More = strings.Split(names, ",")
		return nil
	}, "compare", "print what the estimators `A,B,...` make of the scores, and write no dataset").Shown("off").Common()
	d.Int(&g.N, "simulate-n", "with --compare, also cut groups to `N` members: what fewer generations would have given").Shown("off")
	d.Int(&g.Repeats, "simulate-repeats", "draw the members that remain `R` times")
	d.Int64(&g.Seed, "seed", "draw the members that remain with this `SEED`")
	d.String(&g.Plot, "plot", "draw the mass by estimator into this `FILE`: SVG if its name ends in .svg, otherwise PNG")
	d.Include(&g.spilling)
	d.Include(&g.runPlace)
	d.Include(&g.target)
	d.Include(&g.monitored)
}

func runGroup(ctx context.Context, s *cli.Session, g *groupSettings) (err error) {
	o := g.Options
	if g.target.URI != "" || o.Estimator.More != nil {
		o.In, err = g.lastInput(ctx, s, g.source, g.Epoch)
	} else {
		o.In, err = g.runPlace.input(s, g.source, g.Epoch, false)
	}
	if err != nil {
		return err
	}
	o.Env, o.Spill = s.Env(), g.spill()
	if o.Pairs.Mode != "" || o.Labels { // which read messages
		collectEarly()
	} else {
		defer collectEvenly()()
	}
	for _, uri := range g.Scores {
		o.Scores = append(o.Scores, stages.Input{URI: uri, AcceptGates: o.In.AcceptGates})
	}
	switch writes := g.target.URI != "" || g.Shard != "" || g.Overwrite; {
	case o.Estimator.More != nil && writes:
		return cli.Usagef("leave --out, --shard and --overwrite out", "--compare prints figures of all rows, and writes no dataset")
	case o.Estimator.More != nil:
		return g.compare(ctx, s, o)
	case g.N != 0 || g.Plot != "":
		return cli.Usagef("name estimators with --compare", "--simulate-n and --plot are about a comparison of estimators")
	}
	if o.Out, err = g.openSibling(s, o.In.URI); err != nil {
		return err
	}
	g.place(s, g.Epoch, false)
	o.Env = s.Env()
	r, err := group.Run(ctx, o)
	return finishStage(s, r, r, err)
}

// compare prints what estimators make of the scores.
func (g *groupSettings) compare(ctx context.Context, s *cli.Session, o group.Options) error {
	c, err := group.Compare(ctx, o, g.Simulation)
	if err != nil {
		return err
	}
	if g.Plot != "" {
		plot := report.Lines{Title: "gradient mass", X: "share of the group solved", Y: "share of the mass"}
		for i, e := range c.Estimators {
			plot.Names, plot.Values, plot.Places = append(plot.Names, e.Name), append(plot.Values, nil), nil
			for _, class := range e.Classes {
				plot.Places = append(plot.Places, class.Solved)
				plot.Values[i] = append(plot.Values[i], float64(class.Mass))
			}
		}
		if err := writePlot(g.Plot, plot.PNG, plot.SVG); err != nil {
			return err
		}
	}
	return s.Print(c, c.WriteText)
}
