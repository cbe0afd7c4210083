package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var checkCommand = cli.Command{
	Name:     "check",
	Heading:  settings.BeginHeading,
	Usage:    "test the engine, the trainer, storage and programs before a run, or one store",
	Required: "--config, the file of a run; or --store; or --oracle and --examples",
	About: `Reads the config file as train does and tests everything that a run needs: the
settings and programs of every stage, the task file, that storage creates an
object only once, that the agent starts (it begins one attempt, which ends at its
first model call), that the programs of the rewards start, that the sampled model
is the trained model, that the trainer answers, and that the engine returns a
token with logprobs (when rollout.url names an engine). It trains nothing and
leaves nothing behind. All checks are made; the exit code is that of the first
failure.

  rollmill check --config rollmill.yaml

With --store it tests only a bucket or a folder, and needs no config file: atomic
writes, creation of an object by exactly one of many writers, replacement only of
what was read, ordered listings, ranges, unusual names, large objects. It writes
about three thousand small objects and 200 MB in a new folder under URI, removes
the folder, and exits with code 1 if a case fails. The parameters after the
question mark and the environment variables are those of each store's own tools;
credentials come only from the environment.

With --oracle it runs the solution of each Harbor task the given number of times,
without a model, and names the tasks whose rewards differ from run to run.

  rollmill check --examples harbor:tasks --oracle 3

  rollmill check --store runs
  rollmill check --store 's3://bucket/prefix?region=eu-central-1'
  rollmill check --store 's3://bucket?endpoint=http://127.0.0.1:9000&use_path_style=true'
  rollmill check --store gs://bucket/prefix
  rollmill check --store 'azblob://container?storage_account=account'`,
	Section: trainCommand.Name,
	Body: cli.With(func() *checkSettings {
		return &checkSettings{trainSettings: newTrainSettings(), solutions: solutions{Runtime: "podman"}}
	}, runCheck),
}

// checkSettings are the settings of train, which check tests, and the store that it
// tests instead.
type checkSettings struct {
	*trainSettings
	Store string
	solutions
}

func (c *checkSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&c.Store, "store",
		"test only whether the bucket or the folder at this `URI` can hold datasets and ledgers").
		DefaultShown("none")
	d.Include(&c.solutions)
	d.Include(c.trainSettings)
}

// probe is one check. try returns what it found, or the reason of the failure.
type probe struct {
	name string
	try  func(context.Context) (found string, err error)
}

// probeResult is the result of a probe, as --json prints it.
type probeResult struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found,omitempty"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func runCheck(ctx context.Context, s *cli.Session, c *checkSettings) error {
	if s.Given("store") {
		return checkStore(ctx, s, c.Store)
	}
	if s.Given("oracle") {
		return c.solutions.check(ctx, s)
	}
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	results, err := check(ctx, s, probes(o))
	var b strings.Builder
	for _, r := range results {
		state, text := "ok", r.Found
		if !r.OK {
			state, text = "failed", r.Error
		}
		fmt.Fprintf(&b, "%-6s  %-8s %s\n", state, r.Check, text)
	}
	return errors.Join(s.PrintText(map[string][]probeResult{"checks": results}, b.String()), err)
}

// check runs every probe and returns the first failure as its error.
func check(ctx context.Context, s *cli.Session, probes []probe) ([]probeResult, error) {
	var results []probeResult
	var first error
	for _, p := range probes {
		found, err := p.try(ctx)
		r := probeResult{Check: p.name, OK: err == nil, Found: found}
		if err != nil {
			r.Error, r.Hint = s.Told(err)
			if first == nil {
				first = fmt.Errorf("check: %s: %w", p.name, err)
			}
		}
		results = append(results, r)
	}
	return results, first
}

func probes(o train.Options) []probe {
	list := []probe{
		{"stages", func(context.Context) (string, error) {
			return "the settings and programs of every stage", checkStages(o)
		}},
		{"examples", func(context.Context) (string, error) { return foundExamples(o) }},
		{"storage", func(ctx context.Context) (string, error) { return tryStorage(ctx, o.Root) }},
		{"agent", func(ctx context.Context) (string, error) { return o.Rollout.TryAgent(ctx) }},
		{"rewards", func(ctx context.Context) (string, error) { return o.Score.TryRewards(ctx) }},
		{"model", func(ctx context.Context) (string, error) { return sampledModel(ctx, o) }},
		{"trainer", func(ctx context.Context) (string, error) { return tryTrainer(ctx, o) }},
	}
	if o.Rollout.Model == "" { // the trainer names it, and loads it, when the run begins
		return list
	}
	for _, url := range o.Rollout.Endpoints {
		list = append(list, probe{"engine", func(ctx context.Context) (string, error) {
			return tryEngine(ctx, url, o.Rollout.APIKey, o.Rollout.Model)
		}})
	}
	return list
}

func foundExamples(o train.Options) (string, error) {
	found := fmt.Sprintf("%d to train on", o.Rollout.Examples.Len())
	if o.Rollout.Examples.Len() == 0 {
		return "", fault.Invalid(o.Rollout.ExamplesRef.URI,
			"is it the right file, and do --allow and --deny leave any?",
			nil, "there is no example in it")
	}
	if o.Validation != nil {
		found += fmt.Sprintf(", %d held out", o.Validation.Rollout.Examples.Len())
	}
	return found, nil
}

// sampledModel checks that rollout.model, which replaces the model that the
// trainer names, is the model that the trainer trains. A run that began has its
// name in a receipt; submit compares the same.
func sampledModel(ctx context.Context, o train.Options) (string, error) {
	trained, sampled := trainedModel(o.Submit.Trainer.Target()), cmp.Or(o.Rollout.TargetModel, o.Rollout.Model)
	first, err := settings.ReceiptAt(ctx, run.Layout{Root: o.Root}.Policy())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	policy := first != nil && first.Policy != nil && first.Policy.Model != ""
	if policy {
		trained = first.Policy.Model
	}
	keeps := o.Submit.Trainer.Describe().Effect == backends.KeepsBatch
	switch {
	case sampled == "" && keeps && !policy:
		return "", cli.Usagef("set rollout.url and rollout.model", "no model is named: backend %s trains nothing, so it names no policy",
			o.Submit.Trainer.Target().Backend)
	case sampled == "" && !policy && o.Submit.Trainer.Target().Backend == "command":
		state, err := o.Submit.Trainer.Begin(ctx, nil)
		if err == nil && state.Policy == nil {
			err = cli.Usagef("set rollout.url and rollout.model, and submit.name to the same model; or let begin answer with a policy",
				"no model is named: the trainer's begin names no policy")
		}
		return "each epoch samples the policy that the trainer names", err
	case sampled == "":
		return "each epoch samples the policy that the trainer names", nil
	case trained == "":
		return sampled + " is sampled; the trainer names no model", nil
	case policy && !first.Policy.Names(sampled), !policy && !sameModel(sampled, trained):
		if backend := o.Submit.Trainer.Target().Backend; backend == "command" && !policy {
			return "", cli.Usagef("if the trainer trains "+sampled+", set submit.name to it",
				"%q is sampled, but %q is trained", sampled, trained)
		}
		return "", cli.Usagef("remove rollout.model and rollout.target-model; each epoch then samples the policy that the "+
			"trainer names", "%q is sampled, but %q is trained", sampled, trained)
	}
	return sampled + " is sampled and trained", nil
}

// trainedModel returns the name of a target's model as an engine knows it, or ""
// if the backend has no such name.
func trainedModel(t receipts.Target) string {
	switch t.Backend {
	case "art":
		_, name, _ := strings.Cut(t.Model, "/") // the project is before it
		return name
	case "command":
		return t.Model
	case "openai":
		return t.Model[:max(0, strings.LastIndex(t.Model, ":"))] // the method follows it
	}
	return ""
}

// sameModel reports whether an engine's model name can refer to a trainer's model: engines
// append the step, and the name of a fine-tuned model contains that of its base.
func sameModel(sampled, trained string) bool {
	return receipts.Policy{Model: trained}.Names(sampled) || strings.HasPrefix(sampled, "ft:"+trained)
}

// tryStorage creates, reads and deletes an object, and checks that it cannot be
// created twice, nor replaced after a change: the ledger of submissions relies on
// the one, --overwrite and compact on the other.
func tryStorage(ctx context.Context, root string) (found string, err error) {
	bucket, err := storage.Open(ctx, storage.Join(root, ".rollmill"))
	if err != nil {
		return "", err
	}
	key, content := "check-"+uuid.NewString(), []byte("rollmill check\n")
	if err := bucket.Create(ctx, key, content); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bucket.Delete(ctx, key)) }()
	if err := bucket.Create(ctx, key, content); !errors.Is(err, storage.ErrExist) {
		return "", fault.Errorf(fault.Usage, "put the run on a local disk or in another store",
			"%q: the store creates an object that already exists (%v)", bucket.URI(), err)
	}
	if err := bucket.Replaces(ctx); err != nil {
		return "", err
	}
	back, err := bucket.Read(ctx, key)
	if err == nil && !bytes.Equal(back, content) {
		err = fmt.Errorf("%q: read %q back, wrote %q", bucket.URI(), back, content)
	}
	return bucket.URI() + " can be written and read, and creates an object only once", err
}

// tryTrainer runs the trainer's preflight on an empty batch: it asks the server
// what it is and sends no data.
func tryTrainer(ctx context.Context, o train.Options) (string, error) {
	nothing := func(func([]formats.Trajectory, error) bool) {}
	_, err := o.Submit.Trainer.Preflight(ctx, nothing, func(backends.Problem) {})
	t := o.Submit.Trainer.Target()
	if o.Submit.Trainer.Describe().Effect == backends.KeepsBatch {
		return fmt.Sprintf("%s at %s, which trains nothing", t.Backend, t.Address), err
	}
	return strings.TrimSpace(t.Backend + " at " + t.Address + ", model " + t.Model), err
}

func tryEngine(ctx context.Context, url, key, model string) (string, error) {
	f, err := openai.Client{}.Look(ctx, url, key, model)
	if err != nil {
		return "", err
	}
	ids := "without token ids: sufficient for SFT, DPO and judging, but not for trainers that need token ids (GRPO)"
	switch {
	case f.TokenIDs:
		ids = "with token ids"
	case f.Gateway != "":
		ids += "; " + f.Gateway + " drops those of the engine behind it: give the engine's own address"
	default:
		ids += "; if this is a gateway, ask the engine behind it: some gateways drop them"
	}
	if f.Templated != nil && !*f.Templated {
		return "", fault.Errorf(fault.Failed,
			"what it samples from is not what its template says: compare its chat template, and its settings for it",
			"%q: the ids of its prompt are not those that its route /tokenize gives the same messages", storage.Redact(url))
	} else if f.Templated != nil {
		ids += "; its prompt is that of its template"
	}
	switch f.Logprobs {
	case formats.LogprobsRaw:
		ids += "; its logprobs are raw: with sampling settings other than temperature 1 they are not those of the sampled " +
			"distribution"
	case formats.LogprobsProcessed:
		ids += "; its logprobs are processed: they are those of the sampled distribution"
	}
	return fmt.Sprintf("%s answers as %s, with logprobs, %s", storage.Redact(url), f.Model, ids), nil
}
