package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect"
)

var showCommand = command{
	name:    "show",
	heading: aroundIt,
	usage:   "show what a dataset's manifest says, and some of its rows",
	about: `Datasets that a gate refused are shown like any other.

  rollmill show --in runs/demo/epoch-0/group --table _groups --rows 20`,
	flags: func() []cli.Flag {
		return inCategory(aboutInput,
			&cli.StringFlag{Name: "in", Usage: "look at the dataset at this `URI`; - takes it from stdin"},
			&cli.StringFlag{Name: "table", Usage: "show rows of this `TABLE`: _groups, _pairs, _labels, _decisions, _plan; default: the main one"},
			&cli.Int64Flag{Name: "first", Usage: "begin with row `N`, from 0"},
			&cli.IntFlag{Name: "rows", Value: 5, Usage: "show at most `N` rows"},
			&cli.BoolFlag{Name: "failed", Usage: "show only rows of failed trajectories"},
		)
	},
	run: runShow,
}

func runShow(ctx context.Context, s *session) error {
	in, err := s.input()
	if err != nil {
		return err
	}
	o := inspect.Options{Table: s.flags.String("table"), First: s.flags.Int64("first"), Rows: s.flags.Int("rows"), Failed: s.flags.Bool("failed")}
	if o.Rows < 0 || o.First < 0 {
		return usage("", "--rows %d, --first %d: neither may be negative", o.Rows, o.First)
	}
	view, err := inspect.Show(ctx, in.URI, o)
	if err != nil {
		return err
	}
	if err := warnOfUnnamed(ctx, s, in.URI); err != nil {
		return err
	}
	return s.print(view, view.WriteText)
}

// warnOfUnnamed says which parts lie at a dataset and are none of it.
func warnOfUnnamed(ctx context.Context, s *session, uri string) error {
	names, err := dataset.UnnamedAt(ctx, uri)
	if err != nil || len(names) == 0 {
		return err
	}
	s.say("show: warning: no record names %d parts (%q, ...): a killed writer left them, one is at work, or something else put them there; readers of *.parquet take them for rows; `rollmill seal` removes those that a writer left", len(names), names[0])
	return nil
}
