package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var jobCommand = cli.Command{
	Name:     "job",
	Heading:  settings.KeepHeading,
	Usage:    "inspect, wait for, cancel or list submissions",
	Required: "--in, the receipt of a submission; or --ledger and --key",
	About: `Works on any machine that can read the receipt and the ledger. The ledger is at
--ledger, else at the URI in the receipt (if that is on a local disk, or in the
receipt's own store), else in the folder above the receipt that holds the id of
its run. The backend's settings are those of submit.

  rollmill job status --in runs/demo/epoch-0/submit
  rollmill job wait --in runs/demo/epoch-0/submit --timeout 2h
  rollmill job list --ledger runs/demo --json`,
	Parts: []cli.Command{
		jobPart("status", "print the state of a submission, as the trainer reports it"),
		jobPart("wait", "wait until a job ends, and exit as submit --wait does"),
		jobPart("cancel", "ask the trainer to cancel a job"),
		{Name: "job list", Section: submitSection, Usage: "list the submissions in the ledger, without asking a trainer",
			Body: cli.With(newJobSettings, runJobList)},
	},
}

// submitSection is the section of the config file that job shares with submit.
const submitSection = "submit"

// jobPart returns a subcommand for one submission.
func jobPart(verb, usage string) cli.Command {
	return cli.Command{Name: "job " + verb, Section: submitSection, Usage: usage,
		Body: cli.With(newJobSettings, func(ctx context.Context, s *cli.Session, c *jobSettings) error {
			return c.one(ctx, s, verb)
		})}
}

// jobSettings select a submission and say how to wait for it.
type jobSettings struct {
	Wait    submit.JobOptions
	Backend backend
	In      string
	Ledger  string
	Place   settings.RunPlace
}

func newJobSettings() *jobSettings {
	o := submit.Defaults()
	return &jobSettings{Backend: plugin.Pick(all.Backends, ""),
		Wait: submit.JobOptions{PollInterval: o.PollInterval, Stall: o.Stall, LeaseTTL: o.LeaseTTL}}
}

func (c *jobSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&c.In, "in",
		"read the receipt of the submission at this `URI` (submit's --out); - reads the URI from stdin")
	d.String(&c.Wait.Key, "key", "find the submission with this `KEY`, as job list prints it, when there is no receipt yet")
	d.String(&c.Ledger, "ledger", "read the ledger of submissions at this `URI`").
		DefaultShown("the receipt's, or the folder that holds the id of its run")
	d.Include(&c.Place)
	d.Heading(plugin.Execution)
	submit.DeclareWaiting(d, &c.Wait.PollInterval, &c.Wait.Timeout, &c.Wait.Stall, &c.Wait.LeaseTTL)
	d.Heading(plugin.Submission)
	plugin.Choose(d, &c.Backend, "backend", "ask this `BACKEND`").DefaultShown("that of the receipt")
}

// find opens the receipt, nil for none, and the ledger. in is the receipt's URI.
func (c *jobSettings) find(ctx context.Context, s *cli.Session) (in string, receipt,
	ledger *storage.Bucket, err error) {
	if in, err = s.URI("in", c.In); err != nil {
		return "", nil, nil, err
	}
	var r *receipts.Receipt
	if in = settings.ReceiptFolder(in); in != "" {
		if receipt, err = storage.Open(ctx, in); err != nil {
			return "", nil, nil, cli.Usagef("", "--in: %w", err)
		}
		if r, err = c.adopt(ctx, s, receipt); err != nil {
			return "", nil, nil, err
		}
	}
	uri, err := c.ledgerURI(ctx, in, r)
	if err != nil {
		return "", nil, nil, err
	}
	if ledger, err = storage.Open(ctx, uri); err != nil {
		err = cli.Usagef("", "--ledger: %w", err)
	}
	return in, receipt, ledger, err
}

func runJobList(ctx context.Context, s *cli.Session, c *jobSettings) error {
	_, _, ledger, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	list, err := submit.List(ctx, ledger, settings.Names(ledger), s.Env().Clock)
	if err != nil {
		return err
	}
	var lines []string
	for _, j := range list {
		lines = append(lines, fmt.Sprintf("%s  %-9s  epoch %d  %s  %s", j.Key, j.State, j.Epoch, j.Target.Backend,
			storage.Redact(j.Curated)))
	}
	if len(list) == 0 {
		next, stop := iter.Pull2(ledger.List(ctx, ""))
		defer stop()
		if _, err, there := next(); err != nil {
			return err
		} else if !there {
			return fault.Invalid(ledger.URI(), "name the run's folder with --root, or its ledger with --ledger", nil,
				"nothing is there")
		}
	}
	if len(lines) == 0 && !s.JSON {
		s.Say("job: no submission in %s", ledger.URI())
		return nil
	}
	return s.Result(strings.Join(lines, "\n"), map[string]any{"ledger": ledger.URI(), "submissions": list})
}

// one runs a subcommand on one submission.
func (c *jobSettings) one(ctx context.Context, s *cli.Session, verb string) error {
	in, receipt, ledger, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	o := c.Wait
	o.Env, o.Out, o.Ledger, o.Wait, o.Cancel = s.Env(), in, ledger, verb == "wait", verb == "cancel"
	if receipt != nil {
		o.Receipt = receipt
	}
	if o.Trainer, err = trainer(&c.Backend, receipt, in); err != nil {
		return err
	}
	r, err := submit.Job(ctx, o)
	if err != nil {
		return err
	}
	s.Say("job: %s", r.Message)
	state := "void"
	if r.Receipt != nil {
		state = r.Receipt.State
	}
	return s.Result(state, r)
}

// adopt reads the receipt in b and takes the backend and its target from it, except
// where flags give them. So a user who can read the receipt can query the job
// from any folder. It returns the receipt, or nil when there is none.
func (c *jobSettings) adopt(ctx context.Context, s *cli.Session, b *storage.Bucket) (*receipts.Receipt, error) {
	r, err := submit.ReadReceipt(ctx, b)
	if errors.Is(err, fs.ErrNotExist) && c.Backend.Name == "" && c.Ledger == "" {
		return nil, fault.Invalid(b.URI(), "name submit's --out; `rollmill job list --root ROOT` lists what a run submitted", nil,
			"there is no receipt")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // reported by the caller that needs it
	}
	if err != nil || r.Target == nil {
		return r, err
	}
	if !s.Given("backend") {
		c.Backend.Name = r.Target.Backend
	}
	if c.Backend.Name != r.Target.Backend {
		return r, nil
	}
	_, settings, err := c.Backend.Get()
	if err == nil {
		plugin.Adopt(settings, s.Given, r.Target.Address, r.Target.Model)
	}
	return r, err
}

// ledgerURI returns the URI of a job's ledger: --ledger, else the one in the receipt,
// else the one that submit would find. in is the receipt's URI, or "".
func (c *jobSettings) ledgerURI(ctx context.Context, in string, r *receipts.Receipt) (string, error) {
	switch {
	case c.Ledger != "":
		return c.Ledger, nil
	case r != nil && r.Ledger != "" && runroot.Follows(in, r.Ledger):
		b, err := storage.Open(ctx, r.Ledger)
		if err != nil {
			return "", cli.Usagef("", "--ledger: %w", err)
		}
		if held, err := submit.Holds(ctx, b, r.Key); err != nil || held || r.RunID == "" {
			return r.Ledger, err
		}
	case r != nil && r.Ledger != "" && r.RunID == "":
		return "", fault.Invalid(storage.Redact(in), "name it with --ledger URI", nil,
			"the receipt's ledger, %q, is in another store and is not used", r.Ledger)
	}
	if r != nil && r.RunID != "" {
		return settings.FindLedger(ctx, c.Ledger, c.Place.Root, in, manifest.Run{ID: r.RunID, Root: r.Ledger}, "")
	}
	if in != "" && r == nil { // in is a dataset, for job list
		d, err := dataset.Open(ctx, in, dataset.OpenOptions{})
		if err == nil && d.Run.ID != "" {
			return settings.FindLedger(ctx, c.Ledger, c.Place.Root, in, d.Run, c.Place.Root)
		}
	}
	_, root := c.Place.Both()
	if in != "" && c.Place.Root == "" {
		root = runroot.Of(in)
	}
	return root, nil
}
