package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/storage"
)

var checkCommand = command{
	name:    "check",
	heading: commandsHeading,
	usage:   "probe the engine, the trainer, storage and programs before anything is paid for",
	about: `Reads the config as train would and tries everything a run will need: settings
and programs of every stage, the task file, whether storage creates an object
once, whether the agent starts (it begins one attempt, which ends with its first
call) and the rewards' programs, whether the model that is sampled is the one
that is trained, what the trainer is, and one token with logprobs from the
engine (when rollout.url names one). It trains nothing and leaves nothing
behind. Every check is made; the exit code is the first failure's.

  rollmill check --config rollmill.yaml`,
	section: trainCommand.name,
	body:    with(newTrainSettings, runCheck),
}

// probe is one thing to try: what it found, or why it will not do.
type probe struct {
	name string
	try  func(context.Context) (found string, err error)
}

// checked is a probe's result.
type checked struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found,omitempty"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func runCheck(ctx context.Context, s *session, c *trainSettings) error {
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	results, err := check(ctx, probes(o))
	return errors.Join(s.print(map[string][]checked{"checks": results}, func(w io.Writer) error { return writeChecks(w, results) }), err)
}

func writeChecks(w io.Writer, results []checked) error {
	for _, r := range results {
		state, text := "ok", r.Found
		if !r.OK {
			state, text = "failed", r.Error
		}
		if _, err := fmt.Fprintf(w, "%-6s  %-8s %s\n", state, r.Check, text); err != nil {
			return err
		}
	}
	return nil
}

// check makes every probe; its error is the first failure.
func check(ctx context.Context, probes []probe) ([]checked, error) {
	var results []checked
	var first error
	for _, p := range probes {
		found, err := p.try(ctx)
		r := checked{Check: p.name, OK: err == nil, Found: found}
		if err != nil {
			r.Error = err.Error()
			var h interface{ Hint() string }
			if errors.As(err, &h) {
				r.Hint = h.Hint()
			}
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
		{"model", func(context.Context) (string, error) { return sampledModel(o) }},
		{"trainer", func(ctx context.Context) (string, error) { return tryTrainer(ctx, o) }},
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
		return "", formats.Invalid(o.Rollout.ExamplesRef.URI, "is it the right file, and do --allow and --deny leave any?", nil, "there is no example in it")
	}
	if o.Validation != nil {
		found += fmt.Sprintf(", %d held out", o.Validation.Rollout.Examples.Len())
	}
	return found, nil
}

// sampledModel makes sure that rollout.model, which is asked for in place of the
// model that the trainer names, is what the trainer trains.
func sampledModel(o train.Options) (string, error) {
	trained, sampled := trainedModel(o.Submit.Trainer.Target()), cmp.Or(o.Rollout.TargetModel, o.Rollout.Model)
	switch {
	case sampled == "":
		return "what the trainer says after each epoch is sampled", nil
	case trained == "":
		return sampled + " is sampled; the trainer names no model", nil
	case !sameModel(sampled, trained):
		return "", usage("leave rollout.model and rollout.target-model out: each epoch then samples the policy that the trainer names", "%q is sampled, but %q is trained", sampled, trained)
	}
	return sampled + " is sampled and trained", nil
}

// trainedModel is the model's name in a target; "" where targets have none that
// an engine would know.
func trainedModel(t formats.Target) string {
	switch t.Backend {
	case "art", "command":
		return t.Model
	case "openai":
		return t.Model[:max(0, strings.LastIndex(t.Model, ":"))] // the method stands behind it
	}
	return ""
}

// sameModel reports whether an engine's name of a model may mean a trainer's:
// engines leave the project out or put the step behind it, and a fine-tuned
// model's name holds that of its base.
func sameModel(sampled, trained string) bool {
	bare := func(name string) string {
		name, _, _ = strings.Cut(name, "@")
		return name[strings.LastIndex(name, "/")+1:]
	}
	return bare(sampled) == bare(trained) || strings.HasPrefix(sampled, "ft:"+trained)
}

// tryStorage makes, reads and removes an object, and makes sure that it cannot
// be made twice: submissions are remembered by that.
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
		return "", stages.Errorf(stages.KindUsage, "put the run on a local disk or in another store", "%q: the store makes an object twice (%v)", bucket.URI(), err)
	}
	back, err := bucket.Read(ctx, key)
	if err == nil && !bytes.Equal(back, content) {
		err = fmt.Errorf("%q: read %q back, wrote %q", bucket.URI(), back, content)
	}
	return bucket.URI() + " can be written, read and created in once", err
}

// tryTrainer lets the trainer's preflight look at an empty batch: it asks the
// server what it is and gives it nothing.
func tryTrainer(ctx context.Context, o train.Options) (string, error) {
	nothing := func(func([]formats.Trajectory, error) bool) {}
	_, err := o.Submit.Trainer.Preflight(ctx, nothing, func(backends.Problem) {})
	t := o.Submit.Trainer.Target()
	return strings.TrimSpace(t.Backend + " at " + t.Address + ", model " + t.Model), err
}

func tryEngine(ctx context.Context, url, key, model string) (string, error) {
	f, err := openai.Client{}.Look(ctx, url, key, model)
	if err != nil {
		return "", err
	}
	ids := "without token ids: enough for SFT, DPO and judging; not for GRPO with trainers that take token ids"
	if f.TokenIDs {
		ids = "with token ids"
	}
	switch f.Logprobs {
	case formats.LogprobsRaw:
		ids += "; its logprobs are raw: sampling settings other than temperature 1 make them those of another distribution than was sampled"
	case formats.LogprobsProcessed:
		ids += "; its logprobs are processed: those of the distribution that was sampled"
	}
	return fmt.Sprintf("%s answers as %s, with logprobs, %s", storage.Redact(url), f.Model, ids), nil
}
