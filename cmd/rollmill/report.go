package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/pipelines/report"
)

var reportCommand = command{
	name:    "report",
	heading: aroundIt,
	usage:   "sum up a run, epoch by epoch: a table, a plot, history files",
	about: `It only reads the run's datasets, prints the table with its advice on stdout,
and writes reward_plot.png, training_metrics.jsonl, reward_history.json,
validation_history.json and curriculum_state.json.

  rollmill report --root runs/demo`,
	flags: reportFlags,
	run:   runReport,
}

func reportFlags() []cli.Flag {
	flags := inCategory(aboutInput, runFlags()...)
	return append(flags, inCategory(aboutOutput,
		&cli.StringFlag{Name: "out", Usage: "write the files at this `URI`; default: the root"},
		&cli.BoolFlag{Name: "no-files", Usage: "print the table alone"},
	)...)
}

func runReport(ctx context.Context, s *session) error {
	if s.flags.String("run") == "" && s.flags.String("root") == "" {
		return usage("name the run's folder with --root", "no run")
	}
	_, root := runAndRoot(s.flags)
	run, err := report.Make(ctx, report.Options{Root: root, Out: s.flags.String("out"), NoFiles: s.flags.Bool("no-files")})
	if err != nil {
		return err
	}
	return s.print(run, run.WriteTable)
}
