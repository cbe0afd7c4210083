package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/eval"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/scratch"
)

var trialCommand = cli.Command{
	Name:     "try",
	Heading:  settings.BeginHeading,
	Usage:    "make a few attempts and show them on one screen; nothing is kept",
	Required: "--config, the file of a run",
	About: `Runs rollout, score and group with the settings that train would use, on the
first examples, and prints each attempt with its rewards, advantage, tokens and
failure, what an epoch would cost, and the best and the worst conversation.
Nothing is trained, and the datasets are removed. Budgets count as in an epoch.
The exit code is 0 if at least one attempt has a reward.

Without --policy, the policy is that of the run's last epoch. A run without one asks
the trainer, as train does, unless rollout.url and rollout.model are set.

  rollmill try --config rollmill.yaml
  rollmill try 8 --config rollmill.yaml --example-count 3 --set rollout.agent='command: ./agent2'`,
	Args:        "[N]",
	ArgSettings: []string{"attempts"},
	Body:        cli.With(func() *trySettings { return &trySettings{Attempts: 4, Examples: 1} }, runTry),
}

// trySettings are the settings of try itself; those of the stages are in their sections.
type trySettings struct {
	Attempts, Examples int
	Policy, Sort       string
	Desc               bool
	settings.RunPlace
}

func (c *trySettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.Int(&c.Attempts, "attempts", "attempt each example `N` times").Min(1)
	d.Int(&c.Examples, "example-count", "attempt the first `N` examples of the task file").Min(1)
	d.String(&c.Policy, "policy", "read endpoint, model and version from the receipt at this `URI`").
		DefaultShown("the run's last").WrittenToRows()
	d.Include(&c.RunPlace)
	declareSort(d, &c.Sort, &c.Desc, "the attempts", "their order")
}

func runTry(ctx context.Context, s *cli.Session, c *trySettings) error {
	folder, err := scratch.Make("")
	if err != nil {
		return err
	}
	s.Defer(folder)
	o, err := c.options(ctx, s, folder.Path)
	if err != nil {
		return err
	}
	c.Place(s, nil, false)
	o.Env = s.Env()
	r, err := eval.Try(ctx, o)
	if err != nil {
		return err
	}
	shown := s.Page(r, func(w io.Writer) error { return r.WriteText(w, s.Height()) }, styleOf)
	return errors.Join(shown, r.Err())
}

// options returns the options of the stages, as train makes them.
func (c *trySettings) options(ctx context.Context, s *cli.Session, folder string) (eval.TryOptions, error) {
	q, err := query.Parse("", c.Sort, c.Desc)
	if err != nil {
		return eval.TryOptions{}, err
	}
	o := eval.TryOptions{Folder: folder, Attempts: c.Attempts, Examples: c.Examples, Order: q.Order}
	run, _ := c.Both()
	if o.Rollout, o.Score, _, err = sampleOptions(ctx, s, folder, func(r *rolloutSettings) {
		r.RunPlace.Run, r.RunPlace.Root, r.PolicyURI = run, folder, cmp.Or(c.Policy, r.PolicyURI)
	}); err != nil {
		return o, err
	}
	grouping, err := cli.Configured(s, groupCommand.Name, newGroupSettings, nil)
	if err != nil {
		return o, err
	}
	o.Group = grouping.Options
	if o.Rollout.Policy == nil {
		o.Rollout.Policy, err = c.lastPolicy(ctx)
	}
	if err == nil && o.Rollout.Policy == nil && (len(o.Rollout.Endpoints) == 0 || o.Rollout.Model == "") {
		o.Rollout.Policy, err = askTrainer(ctx, s, folder)
	}
	return o, err
}

// lastPolicy returns the policy after the run's last epoch, nil for a run without a receipt.
func (c *trySettings) lastPolicy(ctx context.Context) (*receipts.Policy, error) {
	run := c.Layout()
	epochs, err := settings.EpochsAt(ctx, run.Root)
	if err != nil {
		return nil, err
	}
	places := []string{run.Policy()}
	for _, e := range epochs {
		places = append(places, run.Stage(e, "submit"))
	}
	for _, at := range slices.Backward(places) { // the last one first
		receipt, err := settings.ReceiptAt(ctx, at)
		if errors.Is(err, storage.ErrNotExist) { // an epoch that was not submitted, or a run that began without a receipt
			continue
		}
		if err != nil {
			return nil, err
		}
		if receipt.Policy != nil {
			return receipt.Policy, nil
		}
	}
	return nil, nil
}

// askTrainer returns the policy that the trainer of section submit names before
// the first epoch. The receipt is in the temporary folder.
func askTrainer(ctx context.Context, s *cli.Session, folder string) (*receipts.Policy, error) {
	submitting, err := cli.Configured(s, submitCommand.Name, newSubmitSettings, nil)
	if err != nil {
		return nil, err
	}
	o, err := submitting.options(ctx, folder, storage.Join(folder, "policy"))
	if err != nil {
		return nil, err
	}
	prepared, err := submit.Prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if prepared.Receipt.Policy == nil {
		return nil, cli.Usagef("name the engine with rollout.url and rollout.model", "the trainer names no policy to sample")
	}
	return prepared.Receipt.Policy, nil
}
