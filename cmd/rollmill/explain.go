package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/look/trace"
)

var explainCommand = cli.Command{
	Name:     "explain",
	Heading:  settings.LookHeading,
	Usage:    "trace one trajectory from rollout to submission",
	Required: "the id of a trajectory, and --in",
	Args:     "TRAJECTORY",
	About: `Searches every dataset and receipt at the URI (a run, an epoch or a dataset) and
the datasets that they were made from. The output is what rollout recorded, each
reward, the group and the advantage, the rule of curate that dropped the
trajectory, and where it was submitted. A unique prefix of the id is enough.

  rollmill explain 3f8a2c --in runs/demo/epoch-3`,
	Scans: true,
	Body: cli.With(func() *settings.Source {
		return &settings.Source{Does: "search the run, the epoch or the dataset", Looks: true}
	}, runExplain),
}

func runExplain(ctx context.Context, s *cli.Session, o *settings.Source) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	if len(s.Args) != 1 {
		return cli.Usagef("give its id or a prefix of it: rollmill explain ID --in URI", "explain takes one trajectory")
	}
	trace, err := trace.Explain(ctx, in.URI, s.Args[0])
	if err != nil {
		return err
	}
	return s.Page(trace, trace.WriteText, explainStyle)
}

// explainStyle makes the first word of each step, which is not indented, stand out
// with its line.
func explainStyle(line string) terminal.Style {
	if line != "" && line[0] != ' ' {
		return terminal.Bold
	}
	return terminal.Plain
}
