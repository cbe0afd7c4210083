package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/stages/plugin"
)

var auditCommand = cli.Command{
	Name:    "audit",
	Heading: settings.LookHeading,
	Usage:   "check whole datasets for faults that would harm training",
	About: `Reads every complete dataset at the URI (a run, an epoch or a dataset), verifies
the bytes of each part and the digest of each row, and makes the checks below. A
finding is proved by the rows or inferred from recorded settings; what only the
engine can confirm, rollmill check asks it. submit refuses proved errors.
The exit code is 4 for damage, and 3 for other findings of severity --fail-on or
worse.

  rollmill audit runs/demo

Checks:

` + auditHelp(),
	Args:        "URI",
	Folders:     true,
	ArgSettings: []string{"in"},
	Scans:       true,
	Body: cli.With(func() *auditSettings {
		return &auditSettings{Source: settings.Source{Does: "audit the datasets", Looks: true}, FailOn: validate.Error}
	}, runAudit),
}

type auditSettings struct {
	settings.Source
	Only, Skip    []string
	HeldOut       heldout.Options
	Mismatch      string
	Against, Join string
	FailOn        validate.Severity
	settings.Monitored
}

func (o *auditSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.Source)
	d.Heading(plugin.Input)
	held := &o.HeldOut
	d.Strings(&held.URIs, "held-out", "report what is trained on of the rollout, import or task file at this `URI`; "+
		"examples of the run's own validation are always checked")
	d.Int(&held.Ngrams, "held-out-ngrams", "report rows that share `N` words in a row with a held-out text; 13 is usual").
		DefaultShown("not compared")
	d.Strings(&held.Fields, "held-out-field", "compare this held-out `FIELD`, example.NAME or messages.ROLE").DefaultShown("all")
	d.String(&o.Mismatch, "mismatch", "compare the recorded log probabilities with those that the reward `NAME`, a teacher with the "+
		"policy's own weights, gave the same tokens")
	d.String(&o.Against, "against", "compare the rollout or import at --in with the dataset at this `URI`, another program's record of the same attempts, "+
		"turn by turn")
	d.String(&o.Join, "join", "join the rows of both records by `FIELD`, or by FIELD=FIELD if it has another name in --against: trajectory_id, "+
		"example_id, or a member such as metadata.session_id; default by ids, then by what the rows say")
	d.Heading(plugin.Checks)
	d.Strings(&o.Only, "only", "make only the check `NAME`")
	d.Strings(&o.Skip, "skip", "skip the check `NAME`")
	plugin.Choice(d, &o.FailOn, "fail-on", "fail on findings of this `SEVERITY` or worse: "+settings.Joined(validate.Severities),
		validate.Severities...)
	d.Include(&o.Monitored)
}

// auditHelp returns a line for each check.
func auditHelp() string {
	var b strings.Builder
	for _, c := range validate.In(validate.Audit) {
		help := c.Help
		if c.Share > 0 {
			help += fmt.Sprintf(" (more than %g%%)", 100*c.Share)
		}
		fmt.Fprintf(&b, "  %-16s %-8s %-9s %s\n", c.Name, c.Severity, c.Basis(), help)
	}
	return b.String()
}

func runAudit(ctx context.Context, s *cli.Session, o *auditSettings) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	o.HeldOut.Flag = "--held-out"
	settings.CollectEarly()
	a, err := audit.Run(ctx, audit.Options{URI: in.URI, Only: o.Only, Skip: o.Skip, HeldOut: o.HeldOut,
		Mismatch: o.Mismatch, Against: o.Against, Join: o.Join})
	if err != nil {
		return err
	}
	err = s.Print(a, a.WriteText)
	switch worst := a.Worst(); {
	case err != nil || worst == "" || !worst.AtLeast(o.FailOn):
		return err
	case worst == validate.Damage:
		return cli.Exit{Code: cli.ExitInput, What: "a dataset is damaged"}
	default:
		return cli.Exit{Code: cli.ExitGate, What: fmt.Sprintf("there are findings of severity %s or worse", o.FailOn)}
	}
}
