package main

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect"
	"github.com/rollmill/rollmill/stages/plugin"
)

var showCommand = command{
	name:    "show",
	heading: commandsHeading,
	usage:   "print a dataset's manifest and some of its rows",
	about: `Datasets that a gate refused are shown like any other.

  rollmill show runs/demo/epoch-0/group --table _groups --rows 20`,
	words: "URI",
	gives: []string{"in"},
	body:  with(newShowSettings, runShow),
}

type showSettings struct {
	looked
	inspect.Options
}

func newShowSettings() *showSettings {
	return &showSettings{looked: looked{help: "show the dataset"}, Options: inspect.Options{Rows: 5}}
}

func (o *showSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.looked)
	d.Heading(plugin.Input)
	d.String(&o.Table, "table", "show rows of this `TABLE`: _groups, _pairs, _labels, _decisions, _plan").Shown("the main one")
	d.Int64(&o.First, "first", "begin with row `N`, from 0")
	d.Int(&o.Rows, "rows", "show at most `N` rows")
	d.Bool(&o.Failed, "failed", "show only rows of failed trajectories")
}

func runShow(ctx context.Context, s *session, o *showSettings) error {
	uri, err := o.open(s)
	if err != nil {
		return err
	}
	if o.Rows < 0 || o.First < 0 {
		return usage("", "--rows %d, --first %d: neither may be negative", o.Rows, o.First)
	}
	view, err := inspect.Show(ctx, uri, o.Options)
	if err != nil {
		return err
	}
	if err := warnOfUnnamed(ctx, s, uri); err != nil {
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
