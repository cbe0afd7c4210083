package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

var diffCommand = cli.Command{
	Name:    "diff",
	Heading: lookHeading,
	Usage:   "compare two score datasets over the same trajectories",
	About: `Reports how many rewards changed, their rank correlation, how many groups became
flat or stopped being flat, how many advantages changed sign, and the rows that
changed most, with their text. Datasets that a gate refused can be compared too.

  rollmill diff runs/demo/epoch-0/score runs/demo/epoch-0/score-2 --plot moved.png

With --root it compares two datasets of each epoch, by their folders' names: a line
for each epoch and one for all, with the examples that only one of them solves. An
epoch that has not both is left out and named.

  rollmill diff --root runs/demo --epochs 3..7 --score score --score strict
  rollmill diff --root runs/demo --score validation/score --score validation/strict`,
	Args:        "A B",
	ArgSettings: []string{"a", "b"},
	Scans:       true,
	Body:        cli.With(newDiffSettings, runDiff),
}

type diffSettings struct {
	inspect.DiffOptions
	Root   string
	Epochs epochRange
	Scores []string
	Plot   string
}

func newDiffSettings() *diffSettings {
	return &diffSettings{DiffOptions: inspect.DiffOptions{Movers: 10, Solved: group.DefaultSolvedThreshold}}
}

func (o *diffSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&o.A, "a", "compare the scores at this `URI`")
	d.String(&o.B, "b", "compare them with the scores at this `URI`")
	d.String(&o.Root, "root", "compare datasets of epochs of the run at this `URI`").Open().Common()
	o.Epochs.declare(d, "compare these epochs: `RANGE`, such as 3..7 or 3..").Shown("all that have both").Common()
	d.Strings(&o.Scores, "score", "compare the dataset `NAME` of each epoch, the folder's name; twice, a and then b").Common()
	d.String(&o.Reward, "reward", "compare the reward `NAME`").Shown("the total")
	d.Int(&o.Movers, "movers", "show the `N` rows that changed most, and as many examples that flipped")
	declareSolved(d, &o.Solved)
	d.Heading(plugin.Output)
	d.String(&o.Plot, "plot", "draw the comparison into this `FILE`: SVG if its name ends in .svg, otherwise PNG")
}

func runDiff(ctx context.Context, s *cli.Session, o *diffSettings) error {
	if o.Movers < 0 {
		return cli.Usagef("0 shows none", "--movers %d is negative", o.Movers)
	}
	if o.Root != "" || o.Scores != nil || o.Epochs.text != "" {
		return runDiffEpochs(ctx, s, o)
	}
	if o.A == "" || o.B == "" {
		return cli.Usagef("name two datasets: rollmill diff A B", "diff compares two datasets")
	}
	d, err := inspect.Diff(ctx, o.DiffOptions)
	if err != nil {
		return err
	}
	if err := o.plot(d); err != nil {
		return err
	}
	return s.Print(d, d.WriteText)
}

// runDiffEpochs compares epochs of a run. What could be compared is printed also if
// an epoch failed.
func runDiffEpochs(ctx context.Context, s *cli.Session, o *diffSettings) error {
	if o.Root == "" || len(o.Scores) != 2 || o.A+o.B != "" {
		return cli.Usagef("rollmill diff --root R --score score --score strict", "diff of epochs needs --root and two times --score, "+
			"and no other dataset")
	}
	epochs, err := o.Epochs.of(ctx, o.Root)
	if err != nil {
		return err
	}
	o.A, o.B = o.Scores[0], o.Scores[1]
	r, failed := inspect.DiffRun(ctx, o.Root, epochs, o.DiffOptions)
	if r == nil {
		return failed
	}
	if o.Epochs.text != "" && r.Absent != nil {
		failed = errors.Join(failed, formats.Invalid(r.Root, "score --epochs makes what is missing", storage.ErrNotExist,
			"epoch %s: %q or %q is not there", numbers(r.Absent), o.A, o.B))
	}
	if err := o.plot(r.All); err != nil {
		return err
	}
	return errors.Join(s.Print(r, r.WriteText), failed)
}

// plot draws the rows compared, if it was asked for.
func (o *diffSettings) plot(d *inspect.Difference) error {
	if o.Plot == "" {
		return nil
	}
	plot := report.Scatter{Title: "reward " + d.Reward, X: "a", Y: "b"}
	for _, p := range d.Points() {
		plot.Points = append(plot.Points, [2]float64{p.A, p.B})
	}
	draw := plot.PNG
	if strings.EqualFold(filepath.Ext(o.Plot), ".svg") {
		draw = plot.SVG
	}
	image, err := draw()
	if err != nil {
		return err
	}
	return os.WriteFile(o.Plot, image, 0o644)
}
