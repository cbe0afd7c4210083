package main

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/tidy"
	"github.com/rollmill/rollmill/stages/plugin"
)

var compactCommand = cli.Command{
	Name:    "compact",
	Heading: settings.KeepHeading,
	Usage:   "merge a dataset's small files",
	About: `A stage that ran in 1,000 shards leaves 1,000 files or more, and opening each of
them takes longer than reading it. compact writes the same rows in the same order
into large files: the identity and the digests stay, datasets made from this one
still open, and shards of a later stage may run before and after it. The pages of
conversations and tokens are copied, not decoded.

Commands that are reading the dataset go on with the old files. These stay until
` + "`rollmill prune --apply`" + ` removes them, at the earliest --grace after the compaction.
Until then the dataset takes twice the space, and other tools that read
FOLDER/*.parquet see each row twice: give them the names in the manifest.

If compact dies, the dataset is as it was; prune removes what was written. Versions
of rollmill without this command refuse a compacted dataset.

  rollmill compact runs/demo/epoch-0/rollout
  rollmill compact s3://bucket/run/epoch-0/rollout --part-size 1000 --dry-run`,
	Args:        "URI",
	ArgSettings: []string{"in"},
	Scans:       true,
	Body: cli.With(func() *compactSettings {
		return &compactSettings{Source: settings.Source{Does: "read the dataset"}, PartSize: 256}
	}, runCompact),
}

type compactSettings struct {
	settings.Source
	PartSize int
	DryRun   bool
}

func (o *compactSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.Source)
	d.Heading(plugin.Execution)
	d.Int(&o.PartSize, "part-size", "end a file when it has `N` MB").Min(1)
	d.Bool(&o.DryRun, "dry-run", "print what would be done, and change nothing")
}

func runCompact(ctx context.Context, s *cli.Session, o *compactSettings) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	done, err := tidy.Compact(ctx, in.URI, tidy.CompactOptions{Open: dataset.OpenOptions{AcceptGates: in.AcceptGates},
		PartSize: int64(o.PartSize) * 1_000_000, DryRun: o.DryRun})
	if err != nil {
		return err
	}
	if o.DryRun {
		return s.Result(strings.Join(done.Lines(), "\n"), done)
	}
	for _, line := range done.Lines() {
		s.Say("compact: %s", line)
	}
	return s.Result(done.URI, done)
}
