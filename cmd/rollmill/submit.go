package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var submitCommand = command{
	name:    "submit",
	heading: theLine,
	usage:   "hand a curated dataset to a trainer, once",
	about: `A batch is never trained twice: what was begun stands in the ledger, and the
same command attaches to the job, or says what to do (exit code 6). The URI that
it prints holds the receipt, which rollout --policy reads.

` + whereLedgersAre + `

  rollmill submit --in runs/demo/epoch-0/curate --backend art --url http://127.0.0.1:7999 --wait
  rollmill submit --in runs/demo/epoch-0/curate --backend file
  rollmill submit --in runs/demo/epoch-0/curate --backend command --trainer 'python trainer.py jobs' --wait
  rollmill submit --in runs/demo/epoch-0/curate --backend openai --method dpo --base-model gpt-4.1-mini-2025-04-14
  rollmill submit --in runs/demo/epoch-0/curate --backend customizer --entity-url http://nemo.test --datastore-url http://data-store.test --customization-config meta/llama-3.2-1b-instruct@v1.0.0+A100 --wait
  rollmill submit --in runs/demo/epoch-0/curate --backend hub --repository acme/rollouts

Backends:

` + backendList(),
	flags: submitFlags,
	run:   runSubmit,
}

func backendList() string {
	text := ""
	for _, b := range all.List {
		text += "  " + b.Name + ": " + b.Help + "\n"
	}
	return text
}

func submitFlags() []cli.Flag {
	flags := inFlags("the curated dataset")
	flags = append(flags, inCategory(aboutInput,
		&cli.StringFlag{Name: "policy", Usage: "what answers now stands in the receipt at this `URI`; default: the trainer is asked"})...)
	flags = append(flags, inCategory("What becomes of the batch",
		&cli.StringFlag{Name: "backend", Value: "art", Usage: "hand it to this `BACKEND`"},
		&cli.BoolFlag{Name: "prepare", Usage: "give it nothing yet: make the trainer ready and leave a receipt of the first policy"},
		&cli.IntFlag{Name: "max-staleness", Usage: "take rows whose policy is at most `N` steps older than the trainer; of those that do not name one, whose epoch is"},
		&cli.BoolFlag{Name: "wait", Usage: "follow the job to its end"},
		&cli.DurationFlag{Name: "poll-interval", Value: 10 * time.Second, Usage: "ask for the job's state every `TIME`"},
		&cli.DurationFlag{Name: "timeout", Usage: "wait at most `TIME`; then the same command attaches to the job", DefaultText: "none"},
		&cli.DurationFlag{Name: "stall-timeout", Value: time.Hour, Usage: "give up waiting for a job that shows nothing new for `TIME`; 0 for never"},
		&cli.BoolFlag{Name: "dry-run", Usage: "check and count, and name each row that cannot go; send and record nothing"},
		&cli.Float64Flag{Name: "price", Usage: "`PRICE` of a million tokens, for the estimate", DefaultText: "unknown"},
		&cli.BoolFlag{Name: "elsewhere", Usage: "send it although another trainer has had it"},
		&cli.StringSliceFlag{Name: "accept-finding", Usage: "send the rows although check `NAME` of audit proves them wrong"},
		&cli.BoolFlag{Name: "ignore-pairs", Usage: "compare each group's best with its worst, and label by the advantage, although the batch has _pairs or _labels"},
		&cli.BoolFlag{Name: "resubmit", Usage: "send it although it was, or may have been, submitted before"},
		&cli.BoolFlag{Name: "assume-trained", Usage: "somebody looked, and an ambiguous submission was trained"},
		&cli.DurationFlag{Name: "lease", Value: time.Minute, Usage: "take a sender that was silent for `TIME` for dead"},
	)...)
	flags = append(flags, backendFlags()...)
	flags = append(flags, inCategory(aboutOutput, runFlags()...)...)
	return append(flags, inCategory(aboutOutput,
		&cli.IntFlag{Name: "epoch", Usage: "epoch `N` for the receipt; default: that of the dataset"},
		&cli.StringFlag{Name: "out", Usage: "write the receipt at this `URI`; default: the sibling \"submit\" of the input"},
		&cli.StringFlag{Name: "ledger", Usage: "remember submissions at this `URI`; default: the folder that holds the id of the input's run"},
		&cli.BoolFlag{Name: "overwrite", Usage: "replace the receipt of another batch"},
	)...)
}

// submitOptions reads everything but the input and the process. ledger and out
// are where the ledger and the files of the file backend are.
func submitOptions(ctx context.Context, s *session, c *cli.Context, ledger, out string) (submit.Options, error) {
	o := submit.Options{
		Out: out, Run: c.String("run"), Epoch: c.Int("epoch"),
		Wait: c.Bool("wait"), PollInterval: c.Duration("poll-interval"), Timeout: c.Duration("timeout"), Stall: c.Duration("stall-timeout"), LeaseTTL: c.Duration("lease"),
		MaxStaleness: int64(c.Int("max-staleness")), Overwrite: c.Bool("overwrite"), DryRun: c.Bool("dry-run"), Resubmit: c.Bool("resubmit"), AssumeTrained: c.Bool("assume-trained"),
		Elsewhere: c.Bool("elsewhere"), AcceptFindings: c.StringSlice("accept-finding"), IgnoreTables: c.Bool("ignore-pairs"), Price: c.Float64("price"),
	}
	var err error
	if o.Policy, err = policy(ctx, c.String("policy")); err != nil {
		return o, err
	}
	if err := openLedger(ctx, ledger, &o); err != nil {
		return o, err
	}
	receipt, err := storage.Open(ctx, out)
	if err != nil {
		return o, usage("", "--out: %w", err)
	}
	o.Receipt = receipt
	config, err := backendConfig(s, c)
	if err != nil {
		return o, err
	}
	place(&config, receipt, out)
	o.Trainer, err = all.New(c.String("backend"), config)
	return o, err
}

// place tells the file backend where to write.
func place(config *all.Config, b *storage.Bucket, uri string) {
	config.Place.URI = storage.Redact(uri)
	config.Place.Read = b.Read
	config.Place.Begin = func(ctx context.Context) (file.Draft, error) { return b.Draft(ctx) }
}

func runSubmit(ctx context.Context, s *session) error {
	in, out, root, err := s.submitPlaces()
	if err != nil {
		return err
	}
	d, err := s.curated(ctx, in)
	if err != nil {
		return err
	}
	ledger, err := s.ledger(ctx, s.flags, in.URI, dataset.RunOf(d), root)
	if err != nil {
		return err
	}
	o, err := submitOptions(ctx, s, s.flags, ledger, out)
	if err != nil {
		return err
	}
	o.In, o.Env = in, s.stageEnv()
	run := submit.Run
	if s.flags.Bool("prepare") {
		run = submit.Prepare
	} else if !s.flags.IsSet("epoch") {
		o.Epoch = epochOf(d)
	}
	r, err := run(ctx, o)
	if o.DryRun {
		s.problems(r)
	}
	return s.finish(r.Report, r, err)
}

// problems names the rows that cannot go, one a line, and what was looked for.
func (s *session) problems(r submit.Result) {
	for _, p := range r.Problems {
		s.say("%s  %s  %s: %s", p.Reason, p.GroupID, p.TrajectoryID, p.Detail)
	}
	if r.Load == nil {
		return
	}
	for _, f := range r.Load.Files {
		s.say("%s", fileLine(f))
	}
	if len(r.Load.Checks) > 0 {
		s.say("looked for: %s", strings.Join(r.Load.Checks, ", "))
	}
}

// submitPlaces says what to submit, where the receipt goes, and where the
// ledger of a dataset without a run's id is. Preparing needs no input.
func (s *session) submitPlaces() (in stages.Input, out, root string, err error) {
	c := s.flags
	out = c.String("out")
	named := c.String("root") != ""
	_, root = runAndRoot(c)
	if c.Bool("prepare") && c.String("in") == "" {
		switch {
		case out == "":
			out = storage.Join(root, "policy")
		case !named:
			root = dataset.RootOf(out)
		}
		return in, out, root, nil
	}
	if in, err = s.input(); err != nil {
		return in, out, root, err
	}
	dir, _ := storage.Split(in.URI)
	if out == "" {
		out = storage.Join(dir, s.command)
	}
	if !named {
		root = dir
		if parent, name := storage.Split(dir); strings.HasPrefix(name, "epoch-") {
			root = parent
		}
	}
	return in, out, root, nil
}

// curated opens what is submitted; nil when nothing is. An error ends the
// command: without the run's id the wrong ledger would be begun.
func (s *session) curated(ctx context.Context, in stages.Input) (*dataset.Dataset, error) {
	if s.flags.Bool("prepare") {
		return nil, nil
	}
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates, Kind: formats.KindTrajectories})
	if err != nil {
		return nil, fmt.Errorf("opening the curated dataset: %w", err)
	}
	return d, nil
}

// epochOf is the epoch of a curated dataset, as curate left it; 0 when it did
// not.
func epochOf(d *dataset.Dataset) int {
	var state formats.CurateState
	_ = json.Unmarshal(d.State, &state)
	return state.Epoch
}

// fileLine says what a file would hold, and what it leaves out and why.
func fileLine(f formats.FileLoad) string {
	text := fmt.Sprintf("%-26s %d rows", f.Name, f.Rows)
	if f.Unfit != "" {
		text = fmt.Sprintf("%-26s not written: %s", f.Name, f.Unfit)
	}
	if len(f.Skipped) > 0 && f.Unfit == "" {
		text += "; without a row: " + tally(f.Skipped)
	}
	return text
}
