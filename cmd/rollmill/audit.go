package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/stages/plugin"
)

var auditCommand = command{
	name:    "audit",
	heading: commandsHeading,
	usage:   "read datasets whole and report what would spoil training",
	about: `It reads every complete dataset of a run, an epoch or a dataset again: each
part's bytes, each row's digest, and looks for the faults that such data has.
Each finding is proved by the rows, inferred from recorded settings, or needs
the engine, which rollmill check asks. submit refuses errors that are proved.
Damage ends it with exit code 4, another finding that is as bad as --fail-on
with 3.

  rollmill audit runs/demo

Checks:

` + auditHelp(),
	words: "URI",
	gives: []string{"in"},
	body:  with(newAuditSettings, runAudit),
}

type auditSettings struct {
	looked
	Only, Skip, HeldOut []string
	FailOn              validate.Severity
}

func newAuditSettings() *auditSettings {
	return &auditSettings{looked: looked{help: "audit the datasets"}, FailOn: validate.Error}
}

func (o *auditSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.looked)
	d.Heading(plugin.Input)
	d.Strings(&o.HeldOut, "held-out", "report examples of the rollout at this `URI` that are trained on; those of a run's own validation are always reported")
	d.Heading(plugin.Checks)
	d.Strings(&o.Only, "only", "make only the check `NAME`, and others named so")
	d.Strings(&o.Skip, "skip", "leave out the check `NAME`")
	plugin.Choice(d, &o.FailOn, "fail-on", "fail on findings of this `SEVERITY` and worse: "+words(validate.Severities), validate.Severities...)
}

// auditHelp lists the checks.
func auditHelp() string {
	var b strings.Builder
	for _, c := range audit.Checks() {
		fmt.Fprintf(&b, "  %-16s %-8s %-9s %s\n", c.Name, c.Severity, c.Basis, c.Help)
	}
	return b.String()
}

func runAudit(ctx context.Context, s *session, o *auditSettings) error {
	uri, err := o.open(s)
	if err != nil {
		return err
	}
	a, err := audit.Run(ctx, audit.Options{URI: uri, Only: o.Only, Skip: o.Skip, HeldOut: o.HeldOut})
	if err != nil {
		return err
	}
	err = s.print(a, a.WriteText)
	switch worst := a.Worst(); {
	case err != nil || worst == "" || !worst.AtLeast(o.FailOn):
		return err
	case worst == validate.Damage:
		return exitWith{exitInput, "a dataset is damaged"}
	default:
		return exitWith{exitGate, fmt.Sprintf("there are findings of severity %s or worse", o.FailOn)}
	}
}
