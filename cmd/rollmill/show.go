package main

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/stages/plugin"
)

var showCommand = cli.Command{
	Name:    "show",
	Heading: commandsHeading,
	Usage:   "print a dataset's manifest and some of its rows",
	About: `Also shows datasets that a gate refused.

  rollmill show runs/demo/epoch-0/group --table _groups --rows 20`,
	Args:        "URI",
	ArgSettings: []string{"in"},
	Body:        cli.With(newShowSettings, runShow),
}

type showSettings struct {
	inspected
	inspect.Options
}

func newShowSettings() *showSettings {
	return &showSettings{inspected: inspected{help: "show the dataset"}, Options: inspect.Options{Rows: 5}}
}

func (o *showSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.inspected)
	d.Heading(plugin.Input)
	d.String(&o.Table, "table", "show rows of this `TABLE`: _groups, _pairs, _labels, _decisions, _plan").Shown("the main one")
	d.Int64(&o.First, "first", "start at row `N`, counted from 0")
	d.Int(&o.Rows, "rows", "show at most `N` rows")
	d.Bool(&o.Failed, "failed", "show only rows of failed trajectories")
	d.Func(func() any { return o.Columns }, func(names string) error {
		o.Columns = strings.Split(names, ",")
		return nil
	}, "columns", "show these `COLUMNS`, such as run,messages, in this order, or all").Shown("the usual ones")
}

func runShow(ctx context.Context, s *cli.Session, o *showSettings) error {
	uri, err := o.open(s)
	if err != nil {
		return err
	}
	if o.Rows < 0 || o.First < 0 {
		return cli.Usagef("", "--rows %d, --first %d: must not be negative", o.Rows, o.First)
	}
	view, err := inspect.Show(ctx, uri, o.Options)
	if err != nil {
		return err
	}
	if err := warnUnnamed(ctx, s, uri); err != nil {
		return err
	}
	return s.Print(view, view.WriteText)
}

// warnUnnamed warns of part files in the dataset's folder that do not belong to
// it.
func warnUnnamed(ctx context.Context, s *cli.Session, uri string) error {
	names, err := dataset.UnnamedAt(ctx, uri)
	if err != nil || len(names) == 0 {
		return err
	}
	s.Say("show: warning: %s without a record (%q, ...): a killed or running writer left them, or another program did; readers of *.parquet read them as rows; `rollmill seal` removes those that a killed writer left", plural.Of(len(names), "part"), names[0])
	return nil
}
