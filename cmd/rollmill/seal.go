package main

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

var sealCommand = cli.Command{
	Name:     "seal",
	Heading:  settings.KeepHeading,
	Usage:    "write the manifest of a dataset whose shards are complete",
	Required: "--in; or --root, --epoch and --stage",
	About: `The last shard to finish does this, and so does every reader. Use seal when the
shards ran elsewhere, or to list the missing ones (exit code 4). If the dataset is
complete, seal also removes parts that killed writers left: no record names them,
but readers of plain Parquet would read them as rows. Parts that a command with
--overwrite is writing are kept.

  rollmill seal --root runs/demo --epoch 0 --stage rollout
  rollmill seal --in runs/demo/epoch-0/validation/score`,
	Scans: true,
	Body: cli.With(func() *sealSettings {
		return &sealSettings{Source: settings.Source{Does: "read the dataset"},
			RunPlace: settings.RunPlace{Heading: plugin.Input, Usage: "name the run `NAME`"}}
	}, runSeal),
}

// sealSettings name a dataset by its URI, or by the run, the epoch and the stage.
type sealSettings struct {
	settings.Source
	Epoch *int
	Stage string
	settings.RunPlace
}

// shardedStages are the stages whose output is a dataset of shards.
var shardedStages = []string{"rollout", "score", "group", "curate"}

func (c *sealSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.Source)
	d.Heading(plugin.Input)
	d.OptionalInt(&c.Epoch, "epoch", "seal what --stage wrote in epoch `N` of --root, when --in names no dataset").
		Min(0)
	plugin.Choice(d, &c.Stage, "stage", "seal the output of this `STAGE`: "+strings.Join(shardedStages, ", "),
		shardedStages...)
	d.Include(&c.RunPlace)
}

// Open returns the dataset to seal.
func (c *sealSettings) Open(s *cli.Session) (stages.Input, error) {
	in := c.Source
	switch {
	case in.URI != "" && c.Stage != "":
		return stages.Input{}, cli.Usagef("name the dataset with --in, or with --root, --epoch and --stage",
			"both --in and --stage are given")
	case in.URI == "" && (c.Epoch == nil) != (c.Stage == ""):
		return stages.Input{}, cli.Usagef("name the dataset with --root, --epoch and --stage",
			"--epoch and --stage need each other")
	case in.URI == "" && c.Epoch != nil:
		in.URI = c.Layout().Stage(*c.Epoch, c.Stage)
	}
	return in.Open(s)
}

func runSeal(ctx context.Context, s *cli.Session, c *sealSettings) error {
	in, err := c.Open(s)
	if err != nil {
		return err
	}
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return err // a gate refused it, or shards are missing
	}
	if _, err := seal.Dataset(ctx, in.URI); err != nil {
		return err
	}
	s.Say("seal: %s in %s", plural.Of(d.Rows, "row"), plural.Of(d.Shards, "shard"))
	return s.Result(d.URI(), map[string]any{"stage": "seal", "uri": d.URI(), "identity": d.Identity, "sealed": true,
		"shards": d.Shards, "rows": d.Rows, "rows_digest": d.RowsDigest.String()})
}
