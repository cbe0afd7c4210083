package main

import (
	"context"

	"github.com/rollmill/rollmill/pipelines/inspect"
)

var explainCommand = command{
	name:    "explain",
	heading: commandsHeading,
	usage:   "trace one trajectory from rollout to submission",
	args:    "TRAJECTORY",
	about: `Searches every dataset and receipt at the URI (a run, an epoch or a dataset) and
the datasets that they were made from. The output is what rollout recorded, each
reward, the group and the advantage, the rule of curate that dropped the
trajectory, and where it was submitted. A unique prefix of the id is enough.

  rollmill explain 3f8a2c --in runs/demo/epoch-3`,
	body: with(newExplainSettings, runExplain),
}

func newExplainSettings() *inspected {
	return &inspected{help: "search the run, the epoch or the dataset"}
}

func runExplain(ctx context.Context, s *session, o *inspected) error {
	uri, err := o.open(s)
	if err != nil {
		return err
	}
	if len(s.args) != 1 {
		return usage("give its id or a prefix of it: rollmill explain ID --in URI", "explain takes one trajectory")
	}
	trace, err := inspect.Explain(ctx, uri, s.args[0])
	if err != nil {
		return err
	}
	return s.print(trace, trace.WriteText)
}
