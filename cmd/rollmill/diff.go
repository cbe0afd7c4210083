package main

import (
	"context"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/report"
)

var diffCommand = command{
	name:    "diff",
	heading: aroundIt,
	usage:   "compare two score datasets over the same trajectories",
	about: `It says which rows moved, how far the order agrees, how many groups became flat
or stopped being so, how many advantages changed sign, and shows the rows that
moved most with their text. Datasets that a gate refused are compared like any
other.

  rollmill diff --a runs/demo/epoch-0/score --b runs/demo/epoch-0/score-2 --plot moved.png`,
	flags: func() []cli.Flag {
		flags := inCategory(aboutInput,
			&cli.StringFlag{Name: "a", Usage: "the scores at this `URI`"},
			&cli.StringFlag{Name: "b", Usage: "and those at this `URI`"},
			&cli.StringFlag{Name: "reward", Usage: "compare the reward `NAME`; default: the total"},
			&cli.IntFlag{Name: "movers", Value: 10, Usage: "show the `N` rows that moved most"},
		)
		return append(flags, inCategory(aboutOutput,
			&cli.StringFlag{Name: "plot", Usage: "draw it into the PNG `FILE`"})...)
	},
	run: runDiff,
}

func runDiff(ctx context.Context, s *session) error {
	o := inspect.DiffOptions{A: s.flags.String("a"), B: s.flags.String("b"), Reward: s.flags.String("reward"), Movers: s.flags.Int("movers")}
	if o.A == "" || o.B == "" {
		return usage("name them with --a URI and --b URI", "two datasets are compared")
	}
	if o.Movers < 0 {
		return usage("0 shows none", "--movers %d is negative", o.Movers)
	}
	d, err := inspect.Diff(ctx, o)
	if err != nil {
		return err
	}
	if file := s.flags.String("plot"); file != "" {
		if err := plotDiff(d, file); err != nil {
			return err
		}
	}
	return s.print(d, d.WriteText)
}

func plotDiff(d *inspect.Difference, file string) error {
	plot := report.Scatter{Title: "reward " + d.Reward, X: "a", Y: "b"}
	for _, p := range d.Points() {
		plot.Points = append(plot.Points, [2]float64{p.A, p.B})
	}
	png, err := plot.PNG()
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}
