package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/plugin"
)

var exportCommand = cli.Command{
	Name:     "export",
	Heading:  settings.DataHeading,
	Usage:    "write a dataset in the formats of other programs",
	Required: "--in, or --root and --epoch; --to and --out",
	About: `Reads trajectories, scores, groups or a curated dataset; rows have the rewards and
advantages of the dataset that is named. Trains nothing and records nothing: the
kinds of file of submit --backend file are here too.

A row that a format cannot hold as a whole (two branches in a list of messages) is
refused by name; with --lossy the rest of it is written, and stderr and --json have
the counts. The help of a format names what it never holds after "without". Files
appear once all of them are complete; the documents of a folder appear one by one.

  rollmill export --in runs/demo/epoch-0/score --to chat --out chat.jsonl
  rollmill export --in runs/demo/epoch-0/curate --to verifiers --to atif --out exported
  rollmill export --in runs/demo/epoch-0/group --to csv --out - --where 'advantage > 0'`,
	Body: cli.With(func() *exportSettings {
		return &exportSettings{ExportOptions: convert.ExportOptions{Choice: trainset.Choice{Best: 1}}, In: settings.Source{Does: "read the dataset"},
			Place: settings.RunPlace{Heading: plugin.Input}}
	}, runExport),
}

type exportSettings struct {
	convert.ExportOptions
	In    settings.Source
	Place settings.RunPlace
	Epoch *int
	To    []string
	settings.Monitored
}

// exportFormats are the files that export writes, in the order of their purposes.
var exportFormats = func() file.Formats {
	f := file.FormatsOf(slices.SortedStableFunc(slices.Values(exporters.Exports(foreign.Exporters)), func(a, b exporters.File) int {
		return slices.Index(exporters.Purposes, a.Format.For) - slices.Index(exporters.Purposes, b.Format.For)
	}))
	f.Registry = f.Moved(map[string]string{"inspect-scout": "export --to rows, and run `python -m rollmill.inspect --to-scout FOLDER rows.jsonl`, " +
		"of the Python package"})
	return f
}()

func (o *exportSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.In)
	d.Include(&o.Place)
	d.Heading(plugin.Input)
	d.OptionalInt(&o.Epoch, "epoch", "read what curate wrote in epoch `N` of --root, when --in names no dataset").Min(0).Common()
	d.Strings(&o.Statuses, "status",
		"write only trajectories of this `STATUS`: "+settings.Joined(outcomes.Statuses)).Common()
	d.String(&o.Where, "where",
		"write only trajectories for which `EXPRESSION` is true, over the columns with one number or text, rewards.NAME "+
			"and metadata.NAME").Common()
	plugin.File(d, &o.Redact, "redact", "redact what is written by the rules in this YAML `FILE`", redaction.Load).
		DefaultShown("none")
	d.Heading(plugin.Output)
	exportFormats.Select(d, &o.To, "to",
		"write this `FORMAT`: NAME, one of those below, or NAME.EXT for another of its files").DefaultShown("none").Common()
	d.String(&o.Out, "out", "write the file `OUT`, or into the folder OUT when its name has no extension or there are "+
		"several formats; - is stdout").DefaultShown("none").WrittenToRows().Common()
	plugin.Choice(d, &o.Per, "row-weight",
		"weight rows of sequences so that every `WHAT` contributes equally to the loss", sequences.Pers...).
		DefaultShown("every weight is 1")
	plugin.Choice(d, &o.Advantages, "advantages",
		"write advantages of `WHAT`: one per message, or one per trajectory, which leaves out message losses",
		exporters.OfMessages, exporters.OfTrajectory).DefaultShown(string(exporters.OfMessages))
	backends.DeclareBest(d, &o.Choice)
	acceptedFindings(d, &o.Accept, "write rows that have the finding `NAME` of import or audit")
	d.Bool(&o.Lossy, "lossy", "leave out parts of rows that a format cannot hold, and count them").Common()
	d.Bool(&o.Overwrite, "overwrite", "replace existing files; other files of a folder stay").Common()
	d.Include(&o.Monitored)
}

func runExport(ctx context.Context, s *cli.Session, c *exportSettings) error {
	settings.CollectEarly()
	o := c.ExportOptions
	in, err := c.Place.LastInput(ctx, s, c.In, c.Epoch)
	if err != nil {
		return err
	}
	o.In, o.AcceptGates, o.Stdout = in.URI, in.AcceptGates, s.Out
	switch {
	case len(c.To) == 0:
		return cli.Usagef("`rollmill help export` describes the formats, by what they are for", "name a format with --to")
	case o.Out == "":
		return cli.Usagef("name a file or a folder with --out, or - for stdout", "no output")
	case o.Out == "-" && s.JSON:
		return cli.Usagef("write to a file", "--json and --out - would both write to stdout")
	}
	for _, name := range c.To {
		f, err := exportFormats.File(name)
		if err != nil {
			return err
		}
		o.To = append(o.To, f)
	}
	meter := s.Env().Meter("export", "rows", 0)
	o.Progress = meter.Add
	r, err := convert.Export(ctx, o)
	meter.Done()
	if err != nil {
		return err
	}
	for _, f := range r.Files {
		s.Say("export: %s", exportLine(f))
	}
	for _, note := range r.Notes {
		s.Logger().Warn(note)
	}
	if len(r.Filtered) > 0 {
		s.Say("export: left out of %s: %s", plural.Of(r.Rows, "row"), terminal.Tally(r.Filtered))
	}
	if r.Redacted.Rows > 0 {
		s.Say("export: redacted %s", r.Redacted)
	}
	if o.Out == "-" {
		return nil
	}
	return s.Result(r.URI, r)
}

// exportLine describes a file: its rows, and what is not in it and why.
func exportLine(f convert.Written) string {
	text := fmt.Sprintf("%s: %s", f.Format, plural.Of(f.Rows, "row"))
	if len(f.Skipped) > 0 {
		text += "; without a row: " + terminal.Tally(f.Skipped)
	}
	if len(f.Dropped) > 0 {
		text += "; written without: " + terminal.Tally(f.Dropped)
	}
	if s := f.Entry.Sequences; s != nil {
		text += "; " + s.String()
	}
	return text
}
