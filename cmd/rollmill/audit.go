package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
)

var auditCommand = command{
	name:    "audit",
	heading: aroundIt,
	usage:   "read datasets whole and say what would spoil training",
	about: `It reads every complete dataset of a run, an epoch or a dataset again: each
part's bytes, each row's digest, and looks for the faults that such data has.
Each finding is proved by the rows, inferred from recorded settings, or needs
the engine, which rollmill check asks. submit refuses errors that are proved.
Damage ends it with exit code 4, another finding that is as bad as --fail-on
with 3.

  rollmill audit --in runs/demo

Checks:

` + auditHelp(),
	flags: func() []cli.Flag {
		return inCategory(aboutInput,
			&cli.StringFlag{Name: "in", Usage: "audit what is under this `URI`; - takes it from stdin"},
			&cli.StringSliceFlag{Name: "only", Usage: "make the check `NAME`, and those named so too"},
			&cli.StringSliceFlag{Name: "skip", Usage: "leave the check `NAME` out"},
			&cli.StringSliceFlag{Name: "held-out", Usage: "report examples of the rollout at this `URI` that are trained on; a run's own validation is always looked at"},
			&cli.StringFlag{Name: "fail-on", Value: string(validate.Error), Usage: "fail on findings as bad as `SEVERITY`: " + words(validate.Severities)},
		)
	},
	run: runAudit,
}

// auditHelp lists the checks.
func auditHelp() string {
	var b strings.Builder
	for _, c := range audit.Checks() {
		fmt.Fprintf(&b, "  %-16s %-8s %-9s %s\n", c.Name, c.Severity, c.Basis, c.Help)
	}
	return b.String()
}

func runAudit(ctx context.Context, s *session) error {
	in, err := s.input()
	if err != nil {
		return err
	}
	least := validate.Severity(s.flags.String("fail-on"))
	if !slices.Contains(validate.Severities, least) {
		return usage("use "+words(validate.Severities), "unknown --fail-on %q", least)
	}
	a, err := audit.Run(ctx, audit.Options{URI: in.URI, Only: s.flags.StringSlice("only"), Skip: s.flags.StringSlice("skip"), HeldOut: s.flags.StringSlice("held-out")})
	if err != nil {
		return err
	}
	err = s.print(a, a.WriteText)
	switch worst := a.Worst(); {
	case err != nil || worst == "" || !worst.AtLeast(least):
		return err
	case worst == validate.Damage:
		return exitWith{exitInput, "a dataset is damaged"}
	default:
		return exitWith{exitGate, fmt.Sprintf("what was found is as bad as %s", least)}
	}
}
