package main

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
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
		&cli.StringFlag{Name: "ledger", Usage: "remember submissions at this `URI`; default: the run's root"},
		&cli.BoolFlag{Name: "overwrite", Usage: "replace the receipt of another batch"},
	)...)
}

// submitOptions reads everything but the input and the process. in and out
// decide where the ledger and the files of the file backend are.
func submitOptions(ctx context.Context, s *session, c *cli.Context, root, out string) (submit.Options, error) {
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
	if ledger := c.String("ledger"); ledger != "" {
		root = ledger
	}
	ledger, err := storage.Open(ctx, root)
	if err != nil {
		return o, usage("", "--ledger: %w", err)
	}
	if err := keepsLedgers(ctx, ledger, o.DryRun); err != nil {
		return o, err
	}
	receipt, err := storage.Open(ctx, out)
	if err != nil {
		return o, usage("", "--out: %w", err)
	}
	o.Ledger, o.Receipt, o.Keys, o.LedgerURI = ledger, receipt, names(ledger), reachable(ledger)
	config, err := backendConfig(s, c)
	if err != nil {
		return o, err
	}
	place(&config, receipt, out)
	o.Trainer, err = all.New(c.String("backend"), config)
	return o, err
}

// keepsLedgers refuses a store in which two processes could both begin the
// same submission.
func keepsLedgers(ctx context.Context, ledger *storage.Bucket, dryRun bool) error {
	if dryRun {
		return nil
	}
	exclusive, err := ledger.Exclusive(ctx)
	if err != nil {
		return err
	}
	if !exclusive {
		return usage("name a folder of a disk or of another store by --ledger; `rollmill storage check` tells which will do",
			"--ledger %q: the store replaces an object that it was asked to create only if it is not there, so a batch could be trained twice", ledger.URI())
	}
	return nil
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
	o, err := submitOptions(ctx, s, s.flags, root, out)
	if err != nil {
		return err
	}
	o.In, o.Env = in, s.stageEnv()
	run := submit.Run
	if s.flags.Bool("prepare") {
		run = submit.Prepare
	} else if !s.flags.IsSet("epoch") {
		o.Epoch = epochOf(ctx, in)
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
	if r.Load != nil && len(r.Load.Checks) > 0 {
		s.say("looked for: %s", strings.Join(r.Load.Checks, ", "))
	}
}

// names lists a bucket's keys.
func names(b *storage.Bucket) submit.Keys {
	return func(ctx context.Context, prefix string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for o, err := range b.List(ctx, prefix) {
				if !yield(o.Key, err) {
					return
				}
			}
		}
	}
}

// reachable is a bucket's URI as it is understood in any folder.
func reachable(b *storage.Bucket) string {
	if dir, ok := b.Local(); ok {
		if path, err := filepath.Abs(dir); err == nil {
			return path
		}
	}
	return storage.Redact(b.URI())
}

// submitPlaces says what to submit, where the receipt goes and where the run
// is rooted. Preparing needs no input.
func (s *session) submitPlaces() (in stages.Input, out, root string, err error) {
	c := s.flags
	out = c.String("out")
	named := c.String("root") != ""
	_, root = runAndRoot(c)
	if c.Bool("prepare") && c.String("in") == "" {
		if out == "" {
			out = storage.Join(root, "policy")
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

// epochOf is the epoch of a curated dataset, as curate left it; 0 when it did
// not. What is wrong with the dataset is for the stage to say.
func epochOf(ctx context.Context, in stages.Input) int {
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates})
	if err != nil {
		return 0
	}
	var state formats.CurateState
	_ = json.Unmarshal(d.State, &state)
	return state.Epoch
}
