package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages/plugin"
)

var diffCommand = cli.Command{
	Name:    "diff",
	Heading: lookHeading,
	Usage:   "compare two score datasets over the same trajectories",
	About: `Reports how many rewards changed, their rank correlation, how many groups became
flat or stopped being flat, how many advantages changed sign, and the rows that
changed most, with their text. Datasets that a gate refused can be compared too.

  rollmill diff runs/demo/epoch-0/score runs/demo/epoch-0/score-2 --plot moved.png`,
	Args:        "A B",
	ArgSettings: []string{"a", "b"},
	Scans:       true,
	Body:        cli.With(newDiffSettings, runDiff),
}

type diffSettings struct {
	inspect.DiffOptions
	Plot string
}

func newDiffSettings() *diffSettings {
	return &diffSettings{DiffOptions: inspect.DiffOptions{Movers: 10}}
}

func (o *diffSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&o.A, "a", "compare the scores at this `URI`")
	d.String(&o.B, "b", "compare them with the scores at this `URI`")
	d.String(&o.Reward, "reward", "compare the reward `NAME`").Shown("the total")
	d.Int(&o.Movers, "movers", "show the `N` rows that changed most")
	d.Heading(plugin.Output)
	d.String(&o.Plot, "plot", "draw the comparison into this `FILE`: SVG if its name ends in .svg, otherwise PNG")
}

func runDiff(ctx context.Context, s *cli.Session, o *diffSettings) error {
	if o.A == "" || o.B == "" {
		return cli.Usagef("name two datasets: rollmill diff A B", "diff compares two datasets")
	}
	if o.Movers < 0 {
		return cli.Usagef("0 shows none", "--movers %d is negative", o.Movers)
	}
	d, err := inspect.Diff(ctx, o.DiffOptions)
	if err != nil {
		return err
	}
	if o.Plot != "" {
		if err := plotDiff(d, o.Plot); err != nil {
			return err
		}
	}
	return s.Print(d, d.WriteText)
}

func plotDiff(d *inspect.Difference, file string) error {
	plot := report.Scatter{Title: "reward " + d.Reward, X: "a", Y: "b"}
	for _, p := range d.Points() {
		plot.Points = append(plot.Points, [2]float64{p.A, p.B})
	}
	draw := plot.PNG
	if strings.EqualFold(filepath.Ext(file), ".svg") {
		draw = plot.SVG
	}
	image, err := draw()
	if err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o644)
}
