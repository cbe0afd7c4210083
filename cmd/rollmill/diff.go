package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/eval"
	"github.com/rollmill/rollmill/pipelines/look/diff"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var diffCommand = cli.Command{
	Name:    "diff",
	Heading: settings.LookHeading,
	Usage:   "compare two datasets of scores, or of groups, over the same trajectories, or two evals",
	About: `Reports how many rewards changed, their rank correlation, how many groups became
flat (equal rewards) or stopped being flat, how many advantages changed sign, and the rows that
changed most, with their text. Of groups it compares the advantages in the same way, such as
those of two estimators. Datasets that a gate refused can be compared too.

  rollmill diff runs/demo/epoch-0/score runs/demo/epoch-0/score-2 --plot moved.png

It also lists the attempts whose reward flips, solved (--solved-threshold) on one side
only, with what both rewards said, such as the output of their tests, side by side. A
reward that is null on one side is none of these, and is counted with its reason. A may
be the rollout, for the rewards that its agent gave:

  rollmill diff runs/demo/epoch-0/rollout runs/demo/epoch-0/score --reward agent --reward-b v

Of two evals, or scores of two policies on the same examples, it says which policy is
better, as eval --against does:

  rollmill diff runs/a/eval runs/b/eval

With --root it compares two datasets of each epoch, a line for each and their sum:

  rollmill diff --root runs/demo --epochs 3..7 --score score --score strict`,
	Args:        "A B",
	ArgSettings: []string{"a", "b"},
	Scans:       true,
	Body: cli.With(func() *diffSettings {
		return &diffSettings{DiffOptions: diff.DiffOptions{Movers: 10, Solved: group.DefaultSolvedThreshold}}
	}, runDiff),
}

type diffSettings struct {
	diff.DiffOptions
	Root, Plot  string
	Where, Sort string
	Desc        bool
	Epochs      settings.EpochRange
	Scores      []string
	Measure     eval.MeasureOptions
}

func (o *diffSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&o.A, "a", "compare the scores or groups at this `URI`; of a rollout, the rewards that its agent gave")
	d.String(&o.B, "b", "compare them with those at this `URI`")
	d.String(&o.Root, "root", "compare datasets in the epochs of the run at this `URI`").WrittenToRows().Common()
	d.Strings(&o.Scores, "score", "compare the dataset `NAME` of each epoch, its folder: twice, a and b").Common()
	d.String((*string)(&o.Epochs), "epochs", "compare these epochs of --root, a `RANGE` such as 3..7 or 3..").
		DefaultShown("all that have both").Common()
	d.String(&o.Reward, "reward", "compare the reward `NAME`").DefaultShown("the total; of groups the advantage")
	d.String(&o.RewardB, "reward-b", "compare it with the reward `NAME` of B").DefaultShown("that of --reward")
	d.String(&o.Where, "where", "compare only rows of A for which `EXPRESSION` is true, as in show --where")
	d.Int(&o.Movers, "movers", "show the `N` rows that changed most, or the first `N` by --sort, and `N` examples that flipped").Min(0)
	declareSort(d, &o.Sort, &o.Desc, "the changed rows", "how much they changed")
	declareSolved(d, &o.Solved)
	settings.DeclarePrices(d, &o.Measure.Prices)
	d.Heading(plugin.Output)
	d.String(&o.Plot, "plot", "draw the comparison into this `FILE`: SVG if its name ends in .svg, otherwise PNG")
}

// declareSort declares the flags that sort a list of rows, as show --sort does.
func declareSort(d *plugin.Declarer, sort *string, desc *bool, rows, otherwise string) {
	d.String(sort, "sort", "sort "+rows+" by this `COLUMN`, or an expression, as in show --sort").DefaultShown(otherwise)
	d.Bool(desc, "desc", "with --sort, sort the largest first")
}

func runDiff(ctx context.Context, s *cli.Session, o *diffSettings) error {
	if o.B != "" && o.Scores == nil {
		o.Root = "" // of the config file, for other commands
	}
	switch run := o.Root != ""; {
	case run && (len(o.Scores) != 2 || o.A+o.B != ""):
		return cli.Usagef("--score score --score strict", "--root takes two times --score, and no other datasets")
	case !run && (o.A == "" || o.B == "" || o.Scores != nil || o.Epochs != ""):
		return cli.Usagef("name two datasets: rollmill diff A B, or --root and two times --score", "diff compares two datasets")
	}
	var err error
	if o.Query, err = query.Parse(o.Where, o.Sort, o.Desc); err != nil {
		return err
	}
	d, failed := o.diff(ctx)
	if d == nil {
		return o.policies(ctx, s, failed)
	}
	if o.Plot != "" {
		if err := plotDiff(d, o.Plot); err != nil {
			return err
		}
	}
	return errors.Join(s.Print(d, d.WriteText), failed)
}

// policies compares two evals, or returns the error that A and B are no scores of the same trajectories.
func (o *diffSettings) policies(ctx context.Context, s *cli.Session, failed error) error {
	evals := errors.Is(failed, diff.ErrOther) || errors.Is(failed, storage.ErrNotExist)
	if !evals || o.Root != "" {
		return failed
	}
	if o.Reward != "" || o.Plot != "" || o.Sort != "" {
		if what := (*fault.Error)(nil); errors.As(failed, &what) {
			what.Help = "--reward, --plot and --sort compare scores of the same trajectories; those of an eval are in its folder score"
		}
		return failed
	}
	return printComparison(ctx, s, o.A, o.B, eval.MeasureOptions{Solved: o.Solved, Where: o.Where, Prices: o.Measure.Prices})
}

func (o *diffSettings) diff(ctx context.Context) (*diff.Difference, error) {
	if o.Root == "" {
		return diff.Diff(ctx, o.DiffOptions)
	}
	epochs, err := o.Epochs.Of(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	o.A, o.B = o.Scores[0], o.Scores[1]
	d, err := diff.DiffEpochs(ctx, o.Root, epochs, o.DiffOptions)
	if d != nil && o.Epochs != "" && d.Absent != nil {
		err = errors.Join(err, fault.Invalid(o.Root, "score --epochs makes what is missing", storage.ErrNotExist,
			"epoch %s has not both %q and %q", plural.Numbers(d.Absent), o.A, o.B))
	}
	return d, err
}

// plotDiff draws the compared rows into a file: as SVG if its name ends so, else as PNG.
func plotDiff(d *diff.Difference, file string) error {
	plot := plot.Scatter{Title: "reward " + d.Reward, X: "a", Y: "b", Points: d.Points}
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
