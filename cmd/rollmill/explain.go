package main

import (
	"context"

	"github.com/rollmill/rollmill/pipelines/inspect"
)

var explainCommand = command{
	name:    "explain",
	heading: commandsHeading,
	usage:   "trace one trajectory from rollout to submission",
	words:   "TRAJECTORY",
	about: `It looks through every dataset and receipt of a run, an epoch or a dataset, and
through what they were made from: what was recorded, each reward, the group and
the advantage, the rule of curate that dropped it, and where it was submitted.
The beginning of an id is enough when no other begins so.

  rollmill explain 3f8a2c --in runs/demo/epoch-3`,
	body: with(newExplainSettings, runExplain),
}

func newExplainSettings() *looked {
	return &looked{help: "look under a run, an epoch or a dataset"}
}

func runExplain(ctx context.Context, s *session, o *looked) error {
	uri, err := o.open(s)
	if err != nil {
		return err
	}
	if len(s.words) != 1 {
		return usage("name it by its id or the beginning of it: rollmill explain ID --in URI", "explain takes one trajectory")
	}
	trace, err := inspect.Explain(ctx, uri, s.words[0])
	if err != nil {
		return err
	}
	return s.print(trace, trace.WriteText)
}
