package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var jobCommand = command{
	name:    "job",
	heading: aroundIt,
	usage:   "look at a submission: status, wait, cancel, list",
	words:   "status|wait|cancel|list",
	section: "submit",
	about: `From any machine that can read the receipt and the ledger, which is --ledger,
else where the receipt says (on a local disk, or in the receipt's own store),
else in the folder above the receipt that holds the id of its run. Settings of the
backend are those of submit. Status asks the trainer and prints the state; wait
follows the job to its end and ends as submit --wait would; cancel asks the
trainer to end it; list prints what the ledger holds, without asking anybody.

  rollmill job status --in runs/demo/epoch-0/submit
  rollmill job wait --in runs/demo/epoch-0/submit --timeout 2h
  rollmill job list --ledger runs/demo --json`,
	flags: jobFlags,
	run:   runJob,
}

func jobFlags() []cli.Flag {
	flags := inCategory(aboutInput,
		&cli.StringFlag{Name: "in", Usage: "the receipt stands at this `URI`, the --out of submit; - takes it from stdin"},
		&cli.StringFlag{Name: "key", Usage: "`KEY` of the submission, as list prints it, when there is no receipt yet"},
		&cli.StringFlag{Name: "ledger", Usage: "submissions are remembered at this `URI`; default: the receipt's, or the folder that holds the id of its run"},
	)
	flags = append(flags, inCategory(aboutInput, runFlags()...)...)
	flags = append(flags, inCategory("Waiting",
		&cli.DurationFlag{Name: "poll-interval", Value: 10 * time.Second, Usage: "ask for the job's state every `TIME`"},
		&cli.DurationFlag{Name: "timeout", Usage: "wait at most `TIME`", DefaultText: "none"},
		&cli.DurationFlag{Name: "stall-timeout", Value: time.Hour, Usage: "give up on a job that shows nothing new for `TIME`; 0 for never"},
		&cli.DurationFlag{Name: "lease", Value: time.Minute, Usage: "take a sender that was silent for `TIME` for dead"},
	)...)
	flags = append(flags, inCategory("What it was handed to",
		&cli.StringFlag{Name: "backend", Value: "art", Usage: "`BACKEND` that it was handed to"})...)
	return append(flags, backendFlags()...)
}

// jobVerbs are the words that job takes.
var jobVerbs = []string{"status", "wait", "cancel", "list"}

func runJob(ctx context.Context, s *session) error {
	verb := strings.Join(s.words, " ")
	if !slices.Contains(jobVerbs, verb) {
		return usage(nearest(verb, jobVerbs, "say `rollmill job status`, wait, cancel or list"), "job: %q is none of %s", verb, strings.Join(jobVerbs, ", "))
	}
	in, err := s.uri("in", s.flags.String("in"))
	if err != nil {
		return err
	}
	receipt, err := adopt(ctx, s.flags, in)
	if err != nil {
		return err
	}
	ledger, err := jobLedger(ctx, s, in, receipt)
	if err != nil {
		return err
	}
	if verb == "list" {
		return listJobs(ctx, s, ledger)
	}
	return oneJob(ctx, s, verb, in, ledger)
}

func oneJob(ctx context.Context, s *session, verb, in string, ledger *storage.Bucket) error {
	c := s.flags
	config, err := backendConfig(s, c)
	if err != nil {
		return err
	}
	o := submit.JobOptions{Env: s.stageEnv(), Key: c.String("key"), Out: in, Ledger: ledger, Wait: verb == "wait", Cancel: verb == "cancel",
		PollInterval: c.Duration("poll-interval"), Timeout: c.Duration("timeout"), Stall: c.Duration("stall-timeout"), LeaseTTL: c.Duration("lease")}
	if in != "" {
		receipt, err := storage.Open(ctx, in)
		if err != nil {
			return usage("", "--in: %w", err)
		}
		o.Receipt = receipt
		place(&config, receipt, in)
	}
	if o.Trainer, err = all.New(c.String("backend"), config); err != nil {
		return err
	}
	r, err := submit.Job(ctx, o)
	if err != nil {
		return err
	}
	s.say("job: %s", r.Message)
	state := "void"
	if r.Receipt != nil {
		state = r.Receipt.State
	}
	return s.result(state, r)
}

func listJobs(ctx context.Context, s *session, ledger *storage.Bucket) error {
	list, err := submit.List(ctx, ledger, names(ledger), s.stageEnv().Clock)
	if err != nil {
		return err
	}
	var lines []string
	for _, j := range list {
		lines = append(lines, fmt.Sprintf("%s  %-9s  epoch %d  %s  %s", j.Key, j.State, j.Epoch, j.Target.Backend, storage.Redact(j.Curated)))
	}
	if len(lines) == 0 && !s.json {
		s.say("job: no submission in %s", ledger.URI())
		return nil
	}
	return s.result(strings.Join(lines, "\n"), map[string]any{"ledger": ledger.URI(), "submissions": list})
}
