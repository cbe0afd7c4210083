package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/pipelines/inspect"
)

var explainCommand = command{
	name:    "explain",
	heading: aroundIt,
	usage:   "tell what became of one trajectory, from rollout to submission",
	words:   "TRAJECTORY",
	about: `It looks through every dataset and receipt of a run, an epoch or a dataset, and
through what they were made from: what was recorded, each reward, the group and
the advantage, the rule of curate that dropped it, and where it was submitted.
The beginning of an id is enough when no other begins so.

  rollmill explain --in runs/demo/epoch-3 3f8a2c`,
	flags: func() []cli.Flag {
		return inCategory(aboutInput,
			&cli.StringFlag{Name: "in", Usage: "look under this `URI`: a run, an epoch or a dataset; - takes it from stdin"})
	},
	run: runExplain,
}

func runExplain(ctx context.Context, s *session) error {
	in, err := s.input()
	if err != nil {
		return err
	}
	if len(s.words) != 1 {
		return usage("its id, or the beginning of it: rollmill explain --in URI ID", "one trajectory is explained")
	}
	story, err := inspect.Explain(ctx, in.URI, s.words[0])
	if err != nil {
		return err
	}
	return s.print(story, story.WriteText)
}
