package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
)

var sealCommand = cli.Command{
	Name:    "seal",
	Heading: commandsHeading,
	Usage:   "write the manifest of a dataset whose shards are complete",
	About: `The last shard to finish does this, and so does every reader. Use seal when the
shards ran elsewhere, or to list the missing ones (exit code 4). If the dataset is
complete, seal also removes parts that killed writers left: no record names them,
but readers of plain Parquet would read them as rows. Parts that a command with
--overwrite is writing are kept.`,
	Scans: true,
	Body:  cli.With(newSealSettings, runSeal),
}

func newSealSettings() *source { return &source{what: "the dataset"} }

func runSeal(ctx context.Context, s *cli.Session, o *source) error {
	in, err := o.open(s)
	if err != nil {
		return err
	}
	if _, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates}); err != nil {
		return err // a gate refused it, or shards are missing
	}
	d, err := dataset.Seal(ctx, in.URI)
	if err != nil {
		return err
	}
	s.Say("seal: %s in %s", plural.Of(d.Rows, "row"), plural.Of(d.Shards, "shard"))
	return s.Result(d.URI(), map[string]any{"stage": "seal", "uri": d.URI(), "identity": d.Identity, "sealed": true,
		"shards": d.Shards, "rows": d.Rows, "rows_digest": d.RowsDigest.String()})
}
