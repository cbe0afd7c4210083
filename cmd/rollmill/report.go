package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/stages/plugin"
)

var reportCommand = cli.Command{
	Name:    "report",
	Heading: settings.LookHeading,
	Usage:   "summarize a run by epoch: a table, a page to share, plots and history files",
	About: `Reads the run's datasets and does not change them. Prints a table with advice on
stdout, and writes a page to share, plots and files of figures into --out.

  rollmill report runs/demo

The files:

  report.html              figures, funnel, the best, worst and most uncertain groups,
                           findings and 200 sampled trajectories: one file of at most
                           5 MB that needs no network
  reward_plot, reward_histogram, length_histogram   as .png and .svg, with 95 % bands
  report.json              what --json prints
  training_metrics.jsonl, reward_history.json, validation_history.json,
  curriculum_state.json    the figures of each epoch

With --funnel it prints instead what became of the examples and of the attempts, up to
the rows that were submitted, with the reasons at each step, over all epochs.

Each further score dataset of an epoch (score --as) has a column and a plot of its
own, named after its folder.`,
	Args:        "ROOT",
	ArgSettings: []string{"root"},
	Scans:       true,
	Body: cli.With(func() *reportSettings {
		return &reportSettings{RunPlace: settings.RunPlace{Heading: plugin.Input}}
	}, runReport),
}

type reportSettings struct {
	settings.RunPlace
	Out             string
	NoFiles, Funnel bool
	Report          report.Options
	settings.Monitored
}

func (o *reportSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.RunPlace)
	d.Heading(plugin.Output)
	settings.DeclarePrices(d, &o.Report.Prices)
	d.String(&o.Out, "out", "write the files at this `URI`").DefaultShown("the root").WrittenToRows()
	d.Bool(&o.NoFiles, "no-files", "only print, and write no files")
	d.Bool(&o.Funnel, "funnel", "print the funnel instead of the table: what became of examples and attempts, step by step, and why")
	d.Include(&o.Monitored)
}

func runReport(ctx context.Context, s *cli.Session, o *reportSettings) error {
	root, err := o.Folder("report ROOT")
	if err != nil {
		return err
	}
	run, err := report.Make(ctx, report.Options{Root: root, Out: o.Out, NoFiles: o.NoFiles, Page: true, Prices: o.Report.Prices})
	if err != nil {
		return err
	}
	if o.Funnel {
		return s.Print(run.Funnel, run.Funnel.WriteText)
	}
	return s.Print(run, run.WriteTable)
}
