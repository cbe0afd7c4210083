package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/storetime"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/all"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var submitCommand = cli.Command{
	Name:     "submit",
	Heading:  settings.StagesHeading,
	Usage:    "submit a curated dataset to a trainer, never twice",
	Required: "--in, or --root and --epoch; a trainer: --backend and its address, such as --url for art",
	About: `A batch is never trained twice: every submission is recorded in the ledger before
it is sent. If the command is run again, it attaches to the existing job, or says
what to do (exit code 6). It prints the URI of the receipt, which rollout --policy
reads. Without --backend it writes files for trainers elsewhere.

` + settings.LedgerLocation + `

  rollmill submit --in runs/demo/epoch-0/curate
  rollmill submit --in runs/demo/epoch-0/curate --backend art --url http://127.0.0.1:7999 --wait
  rollmill submit --in runs/demo/epoch-0/curate --backend command --trainer 'python trainer.py jobs' --wait
  rollmill submit --in runs/demo/epoch-0/curate --backend openai --fine-tuning-url http://127.0.0.1:8080/v1 --method dpo --base-model my-model
  rollmill submit --in runs/demo/epoch-0/curate --backend customizer --entity-url http://nemo.test --datastore-url http://data-store.test \
      --customization-config meta/llama-3.2-1b-instruct@v1.0.0+A100 --wait`,
	Body: cli.With(newSubmitSettings, runSubmit),
}

// submitSettings are the settings of submit, with the backend, its input and its outputs.
type submitSettings struct {
	Stage   submit.Options
	Backend backend
	In      settings.Source
	Place   settings.RunPlace
	Policy  string
	Prepare bool
	Epoch   *int
	Out     string
	Ledger  string
	Replace bool
	Rows    string
	settings.Monitored
}

// backend is the chosen backend and its settings.
type backend = plugin.Chosen[backends.TrainerSettings, backends.Kind]

func newSubmitSettings() *submitSettings {
	return &submitSettings{Stage: submit.Defaults(), Backend: plugin.Pick(all.Backends, file.Kind.Name),
		In: settings.Source{Does: "read the curated dataset"}}
}

func (c *submitSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.In)
	d.Heading(plugin.Input)
	d.String(&c.Policy, "policy",
		"read the current policy from the receipt at this `URI`").DefaultShown("the trainer is asked")
	d.Heading(plugin.Submission)
	plugin.Choose(d, &c.Backend, "backend", "submit to this `BACKEND`").Common()
	d.Bool(&c.Prepare, "prepare",
		"submit nothing; prepare the trainer and write a receipt of the first policy").Common()
	d.Include(&c.Stage)
	d.Include(&c.Place)
	d.Heading(plugin.Output)
	d.String(&c.Rows, "rows", "write what would be sent, in the same bytes, into the folder `DIR`; with --dry-run").
		DefaultShown("none").WrittenToRows()
	d.OptionalInt(&c.Epoch, "epoch", "record epoch `N` in the receipt").Min(0).
		DefaultShown("that of the dataset").Common()
	d.String(&c.Out, "out",
		"write the receipt at this `URI`").DefaultShown("the sibling \"submit\" of the input").WrittenToRows().Common()
	d.String(&c.Ledger, "ledger",
		"record submissions at this `URI`").DefaultShown("the folder that holds the id of the input's run")
	d.Bool(&c.Replace, "overwrite", "replace the receipt of another batch")
	d.Include(&c.Monitored)
}

// options returns the options of the stage, without its input and Env. ledger and out are the
// URIs of the ledger and of the receipt, where the file backend also puts its files.
func (c *submitSettings) options(ctx context.Context, ledger, out string) (submit.Options, error) {
	o := c.Stage
	o.Out, o.Run, o.Overwrite = out, c.Place.Run, c.Replace
	if c.Epoch != nil {
		o.Epoch = *c.Epoch
	}
	var err error
	if o.Policy, err = settings.Policy(ctx, c.Policy); err != nil {
		return o, err
	}
	if err := settings.OpenLedger(ctx, ledger, &o); err != nil {
		return o, err
	}
	receipt, err := storage.Open(ctx, out)
	if err != nil {
		return o, cli.Usagef("", "--out: %w", err)
	}
	o.Receipt = receipt
	o.Newer = func(ctx context.Context) (bool, error) { return storetime.Newer(ctx, receipt, receipts.File) }
	if c.Rows != "" {
		b, err := storage.Open(ctx, c.Rows)
		if err != nil {
			return o, cli.Usagef("", "--rows: %w", err)
		}
		place := placeOf(b, c.Rows)
		o.Rows = &place
	}
	if o.Trainer, err = trainer(&c.Backend, receipt, out); err != nil {
		return o, err
	}
	if o.Trainer.Describe().Attended && o.Policy == nil { // nobody else knows what it trained
		o.Policy, err = c.Place.Known(ctx, "", c.Epoch)
	}
	return o, err
}

// placeOf returns the place of a backend's files in b, whose URI is uri.
func placeOf(b *storage.Bucket, uri string) backends.Place {
	return backends.Place{URI: storage.Redact(uri), Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) {
		return b.Draft(ctx)
	}}
}

// trainer returns the trainer of the chosen backend. The file backend writes to
// b, whose URI is uri.
func trainer(chosen *backend, b *storage.Bucket, uri string) (backends.Trainer, error) {
	if chosen.Name == "" {
		return nil, noTrainer()
	}
	_, settings, err := chosen.Get()
	if err != nil {
		return nil, err
	}
	setup := backends.Setup{}
	if b != nil {
		setup.Place = placeOf(b, uri)
	}
	return settings.Trainer(setup)
}

// noTrainer is the error of a command that does nothing without a trainer.
func noTrainer() error {
	return cli.Usagef("name it: --backend, or backend in section submit of the config file; one of "+
		strings.Join(all.Backends.Names(), ", "), "no trainer is named")
}

func runSubmit(ctx context.Context, s *cli.Session, c *submitSettings) error {
	if c.Prepare && !s.Given("backend") {
		return noTrainer()
	}
	in, out, root, err := c.places(ctx, s)
	if err != nil {
		return err
	}
	var d *dataset.Dataset
	if !c.Prepare { // without the run's id it would use the wrong ledger
		d, err = dataset.Open(ctx, in.URI, dataset.OpenOptions{AcceptGates: in.AcceptGates, Kind: schema.KindTrajectories})
		if err != nil {
			return fmt.Errorf("opening the curated dataset: %w", err)
		}
	}
	ledger, err := settings.FindLedger(ctx, c.Ledger, c.Place.Root, in.URI, dataset.RunOf(d), root)
	if err != nil {
		return err
	}
	o, err := c.options(ctx, ledger, out)
	if err != nil {
		return err
	}
	c.Place.Place(s, c.Epoch, false)
	o.In, o.Env, o.Words = in, s.Env(), s.ConfigWords()
	run := submit.Run
	if c.Prepare {
		run = submit.Prepare
	} else if c.Epoch == nil {
		var state decision.CurateState
		_ = json.Unmarshal(d.State, &state) // epoch 0 if curate stored none
		o.Epoch = state.Epoch
	}
	r, err := run(ctx, o)
	if o.DryRun {
		problems(s, r)
	}
	if o.DryRun && err == nil { // nothing was written, so text has no result
		s.Say("%s", settings.Summary(r.Report))
		return s.PrintText(r, "")
	}
	if err == nil && o.Echo && r.Receipt.State == receipts.JobCompleted {
		var echo stages.Report
		if echo, err = settings.EchoOf(ctx, o.Env, in, r.Receipt, out); err != nil {
			return errors.Join(err, s.Result(r.URI, r)) // it was trained
		}
		s.Say("%s", settings.Summary(echo))
	}
	return settings.FinishStage(s, r.Report, r, err)
}

// problems prints the rows that cannot be submitted, one per line, and the checks
// that were made.
func problems(s *cli.Session, r submit.Result) {
	for _, p := range r.Problems {
		s.Say("%s  %s  %s: %s", p.Reason, p.GroupID, p.TrajectoryID, p.Detail)
	}
	if r.Stats == nil {
		return
	}
	for _, f := range r.Stats.Files {
		s.Say("%s", fileLine(f))
	}
	for _, line := range sequences.Texts(r.Stats.Balances()) {
		s.Say("%s", line)
	}
	if len(r.Stats.Checks) > 0 {
		s.Say("each row was checked for: %s", strings.Join(r.Stats.Checks, ", "))
	}
}

// places returns the input, the URI of the receipt, and the root for the ledger
// of a dataset without a run id. --prepare needs no input.
func (c *submitSettings) places(ctx context.Context, s *cli.Session) (in stages.Input, out, root string, err error) {
	out = c.Out
	named := c.Place.Root != ""
	_, root = c.Place.Both()
	if c.Prepare && c.In.URI == "" {
		switch {
		case out == "":
			out = c.Place.Layout().Policy()
		case !named:
			root = runroot.Of(out)
		}
		return in, out, root, nil
	}
	from := c.In
	if from.URI == "" && c.Epoch != nil {
		if from.URI, err = c.Place.Curated(ctx, *c.Epoch); err != nil {
			return in, out, root, err
		}
		out = cmp.Or(out, c.Place.Layout().Stage(*c.Epoch, s.Command))
	}
	if in, err = from.Open(s); err != nil {
		return in, out, root, err
	}
	dir, _ := storage.Split(in.URI)
	out = cmp.Or(out, storage.Join(dir, s.Command))
	if !named {
		root = runroot.Parent(in.URI)
	}
	return in, out, root, nil
}

// fileLine describes a file of the export: its rows, and what it omits and why.
func fileLine(f backends.FileStats) string {
	text := fmt.Sprintf("%-26s %s", f.Name, plural.Of(f.Rows, "row"))
	if f.Unfit != "" {
		text = fmt.Sprintf("%-26s not written: %s", f.Name, f.Unfit)
	}
	if len(f.Skipped) > 0 && f.Unfit == "" {
		text += "; skipped: " + terminal.Tally(f.Skipped)
	}
	return text
}
