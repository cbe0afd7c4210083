package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var submitCommand = command{
	name:    "submit",
	heading: stagesHeading,
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
  rollmill submit --in runs/demo/epoch-0/curate --backend hub --repository acme/rollouts`,
	body: with(newSubmitSettings, runSubmit),
}

// submitSettings are submit's, with the backend and where it reads and writes.
type submitSettings struct {
	Stage   submit.Options
	Backend backend
	In      source
	Place   runPlace
	Policy  string
	Prepare bool
	Epoch   *int
	Out     string
	Ledger  string
	Replace bool
}

// backend is the choice of a backend and its settings.
type backend = plugin.Chosen[backends.TrainerSettings, backends.Kind]

func newSubmitSettings() *submitSettings {
	return &submitSettings{Stage: submit.Defaults(), Backend: plugin.Pick(all.Backends, "art"), In: source{what: "the curated dataset"}}
}

func (c *submitSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.In)
	d.Heading(plugin.Input)
	d.String(&c.Policy, "policy", "receipt that describes the current policy, at this `URI`").Shown("the trainer is asked")
	d.Heading(plugin.Submission)
	plugin.Choose(d, &c.Backend, "backend", "submit to this `BACKEND`")
	d.Bool(&c.Prepare, "prepare", "submit nothing yet: make the trainer ready and write a receipt of the first policy")
	d.Include(&c.Stage)
	d.Include(&c.Place)
	d.Heading(plugin.Output)
	d.OptionalInt(&c.Epoch, "epoch", "epoch `N` for the receipt").Shown("that of the dataset")
	d.String(&c.Out, "out", "write the receipt at this `URI`").Shown("the sibling \"submit\" of the input").Open()
	d.String(&c.Ledger, "ledger", "record submissions at this `URI`").Shown("the folder that holds the id of the input's run")
	d.Bool(&c.Replace, "overwrite", "replace the receipt of another batch")
}

// options are the stage's, but for the input and the process. ledger and out are
// where the ledger and the files of the file backend are.
func (c *submitSettings) options(ctx context.Context, ledger, out string) (submit.Options, error) {
	o := c.Stage
	o.Out, o.Run, o.Overwrite = out, c.Place.Run, c.Replace
	if c.Epoch != nil {
		o.Epoch = *c.Epoch
	}
	var err error
	if o.Policy, err = policy(ctx, c.Policy); err != nil {
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
	o.Trainer, err = trainer(&c.Backend, receipt, out)
	return o, err
}

// trainer makes the trainer of the backend that was chosen; the file backend
// writes to a bucket.
func trainer(chosen *backend, b *storage.Bucket, uri string) (backends.Trainer, error) {
	_, settings, err := chosen.Get()
	if err != nil {
		return nil, err
	}
	setup := backends.Setup{}
	if b != nil {
		setup.Place = backends.Place{URI: storage.Redact(uri), Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }}
	}
	return settings.Trainer(setup)
}

func runSubmit(ctx context.Context, s *session, c *submitSettings) error {
	in, out, root, err := c.places(s)
	if err != nil {
		return err
	}
	d, err := c.curated(ctx, in)
	if err != nil {
		return err
	}
	ledger, err := findLedger(ctx, c.Ledger, c.Place.Root, in.URI, dataset.RunOf(d), root)
	if err != nil {
		return err
	}
	o, err := c.options(ctx, ledger, out)
	if err != nil {
		return err
	}
	o.In, o.Env = in, s.stageEnv()
	run := submit.Run
	if c.Prepare {
		run = submit.Prepare
	} else if c.Epoch == nil {
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
	if r.Stats == nil {
		return
	}
	for _, f := range r.Stats.Files {
		s.say("%s", fileLine(f))
	}
	if len(r.Stats.Checks) > 0 {
		s.say("looked for: %s", strings.Join(r.Stats.Checks, ", "))
	}
}

// places says what to submit, where the receipt goes, and where the ledger of a
// dataset without a run's id is. Preparing needs no input.
func (c *submitSettings) places(s *session) (in stages.Input, out, root string, err error) {
	out = c.Out
	named := c.Place.Root != ""
	_, root = c.Place.both()
	if c.Prepare && c.In.URI == "" {
		switch {
		case out == "":
			out = c.Place.layout().Policy()
		case !named:
			root = dataset.RootOf(out)
		}
		return in, out, root, nil
	}
	if in, err = c.Place.input(s, c.In, c.Epoch, false); err != nil {
		return in, out, root, err
	}
	dir, _ := storage.Split(in.URI)
	if out == "" {
		out = storage.Join(dir, s.command)
	}
	if !named {
		root = dataset.ParentOf(in.URI)
	}
	return in, out, root, nil
}

// curated opens what is submitted; nil when nothing is. An error ends the
// command: without the run's id the wrong ledger would be begun.
func (c *submitSettings) curated(ctx context.Context, in stages.Input) (*dataset.Dataset, error) {
	if c.Prepare {
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
func fileLine(f backends.FileStats) string {
	text := fmt.Sprintf("%-26s %d rows", f.Name, f.Rows)
	if f.Unfit != "" {
		text = fmt.Sprintf("%-26s not written: %s", f.Name, f.Unfit)
	}
	if len(f.Skipped) > 0 && f.Unfit == "" {
		text += "; without a row: " + tally(f.Skipped)
	}
	return text
}
