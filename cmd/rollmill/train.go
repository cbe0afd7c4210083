package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var trainCommand = cli.Command{
	Name:     "train",
	Heading:  settings.StagesHeading,
	Usage:    "run all stages for several epochs in one process",
	Required: "--config, a file with sections rollout, score, group, curate and submit",
	About: `Each stage takes its settings from its own section of the config file. Datasets
have the same URIs as with the five commands, so the commands can finish a run
that train started, and the reverse. If it is killed, the same command continues
where it stopped. Before epoch e, if the validation interval divides e, the
policy runs the held-out examples of section validation; they are never trained
on.

  rollmill train --config rollmill.yaml --epochs 15`,
	Body: cli.With(newTrainSettings, runTrain),
}

// trainSettings are the settings of train itself; those of the stages are in their sections.
type trainSettings struct {
	Epochs     int
	Interval   *int
	Validation string
	train.Refill
	settings.RunPlace
	settings.Monitored
}

func newTrainSettings() *trainSettings { return &trainSettings{Epochs: 1} }

func (c *trainSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	d.Int(&c.Epochs, "epochs", "train for `N` epochs").Min(1)
	d.OptionalInt(&c.Interval, "validation-interval",
		"validate before every `N`th epoch and after the last; 0 for never").Min(0).
		DefaultShown("validation.interval, else 0")
	d.String(&c.Validation, "validation-examples", "read the held-out examples from the task file at this `URI`").
		DefaultShown("validation.examples")
	d.Include(&c.Refill)
	d.Include(&c.RunPlace)
	d.Include(&c.Monitored)
}

func runTrain(ctx context.Context, s *cli.Session, c *trainSettings) error {
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	if o.Submit.Trainer.Target().Backend == file.Kind.Name {
		return cli.Usagef("name a trainer with submit.backend; or run the five commands, which write the files",
			"no trainer is named: backend file trains nothing, so there is no next epoch")
	}
	if err := checkStages(o); err != nil {
		return err
	}
	o.Rollout.KeepAgent = true // its processes import their packages once
	defer o.Rollout.CloseAgent()
	if v := o.Validation; v != nil {
		v.Rollout.KeepAgent = true
		defer v.Rollout.CloseAgent()
	}
	if _, err := check(ctx, s, probes(o)); err != nil {
		return err
	}
	c.Place(s, nil, false)
	o.Env = s.Env()
	o.StageDone = func(e int, r stages.Report) {
		s.Say("epoch %d: %s", e, settings.Summary(r))
		at := stages.Place{Run: s.Place.Run, Epoch: &e}
		r.Stage, at.Validation = strings.CutPrefix(r.Stage, "validation ")
		s.Reported(at, r)
	}
	o.EpochDone = func(e history.Epoch) { s.Say("%s", e.Line()) }
	result, err := train.Run(ctx, o)
	if err != nil {
		return err
	}
	s.Say("train: %s in %s", plural.Of(o.Epochs, "epoch"), result.Root)
	return s.Result(result.Root, result)
}

// options returns the options of the stages, as their own commands make them.
func (c *trainSettings) options(ctx context.Context, s *cli.Session) (train.Options, error) {
	run, root := c.Both()
	every, err := c.interval(s)
	if err != nil {
		return train.Options{}, err
	}
	set := func(r *rolloutSettings) { r.RunPlace.Run, r.RunPlace.Root = run, root }
	o, err := stageOptions(ctx, s, root, set)
	if err != nil {
		return o, err
	}
	o.Epochs, o.Refill = c.Epochs, c.Refill
	if o.Refill == (train.Refill{}) {
		own, err := cli.Configured(s, refillCommand.Name, newRefillSettings, nil)
		if err != nil {
			return o, err
		}
		o.Refill = own.Refill
	}
	if every > 0 {
		o.Validation = &train.Validation{Every: every}
		heldOut := func(r *rolloutSettings) {
			set(r)
			r.Validation, r.TaskFile.Examples = true, cmp.Or(c.Validation, r.TaskFile.Examples)
		}
		if o.Validation.Rollout, o.Validation.Score, _, err = sampleOptions(ctx, s, root, heldOut); err != nil {
			return o, err
		}
	}
	submitting, err := cli.Configured(s, submitCommand.Name, newSubmitSettings, func(c *submitSettings) {
		c.Place.Run, c.Place.Root = run, root
	})
	if err != nil {
		return o, err
	}
	ledger := cmp.Or(submitting.Ledger, root)
	o.Echo = settings.EchoOf
	o.FindLedger = func(ctx context.Context, in string, run manifest.Run, o *submit.Options) error {
		uri, err := settings.FindLedger(ctx, submitting.Ledger, root, in, run, root)
		if err != nil || uri == ledger {
			return err
		}
		return settings.OpenLedger(ctx, uri, o)
	}
	o.Submit, err = submitting.options(ctx, ledger, storage.Join(root, "policy"))
	o.Submit.Words = s.ConfigWords()
	return o, err
}

// stageOptions returns the options of the stages before submit.
func stageOptions(ctx context.Context, s *cli.Session, root string,
	set func(*rolloutSettings)) (o train.Options, err error) {
	o.Root = root
	if o.Rollout, o.Score, o.PlanPrevious, err = sampleOptions(ctx, s, root, set); err != nil {
		return o, err
	}
	grouping, err := cli.Configured(s, groupCommand.Name, newGroupSettings, nil)
	if err != nil {
		return o, err
	}
	o.Group = grouping.Options
	curating, err := cli.Configured(s, curateCommand.Name, newCurateSettings, nil)
	if err != nil {
		return o, err
	}
	o.Curate, err = curating.options(ctx, s)
	return o, err
}

// checkStages validates the settings of every stage before the first epoch. It
// sets valid placeholders for values that are known only during the run.
func checkStages(o train.Options) error {
	in, out := stages.Input{URI: "in"}, stages.Output{URI: "out"}
	samples := []train.Validation{{Rollout: o.Rollout, Score: o.Score}}
	if o.Validation != nil {
		samples = append(samples, *o.Validation)
	}
	for _, v := range samples {
		v.Rollout.Out, v.Score.In, v.Score.Out = out, in, out
		if v.Rollout.Policy == nil {
			v.Rollout.Policy = &receipts.Policy{URL: "http://127.0.0.1/v1",
				Model: cmp.Or(v.Rollout.TargetModel, v.Rollout.Model, "policy")}
		}
		if err := errors.Join(v.Rollout.Validate(), v.Score.Validate()); err != nil {
			return err
		}
	}
	o.Group.In, o.Group.Out, o.Curate.In, o.Curate.Out, o.Submit.In = in, out, in, out, in
	return errors.Join(o.Validate(), o.Group.Validate(), o.Curate.Validate(), o.Submit.Validate())
}

// sampleOptions returns the options of rollout and score, and whether rollout makes the plan of the epoch
// before; set assigns settings of rollout, of which score takes Validation alone.
func sampleOptions(ctx context.Context, s *cli.Session, root string, set func(*rolloutSettings)) (r rollout.Options,
	sc score.Options, planned bool, err error) {
	rolling, err := cli.Configured(s, rolloutCommand.Name, newRolloutSettings, set)
	if err != nil {
		return r, sc, false, err
	}
	if planned = rolling.PlanURI == planPrevious; planned {
		rolling.PlanURI = ""
	}
	if rolling.PlanURI != "" || rolling.ExtendURI != "" {
		return r, sc, false, cli.Usagef("write plan: previous for that of each epoch before, or use the five commands to extend an epoch",
			"rollout.plan and rollout.extend apply to one epoch, but train runs several")
	}
	if r, err = rolling.options(ctx, s); err != nil {
		return r, sc, false, err
	}
	scoring, err := cli.Configured(s, scoreCommand.Name, newScoreSettings, func(c *scoreSettings) {
		c.Validation = rolling.Validation
	})
	if err != nil {
		return r, sc, false, err
	}
	sc = scoring.Options
	sc.Judging, err = scoring.judges.Open(ctx, storage.Join(root, "score"), sc.Rewards)
	return r, sc, planned, err
}

// interval returns the validation interval of the flag, or of section validation.
func (c *trainSettings) interval(s *cli.Session) (int, error) {
	if c.Interval != nil {
		return *c.Interval, nil
	}
	v, err := cli.Configured(s, settings.Validation, func() *settings.OnlyValidation { return &settings.OnlyValidation{} }, nil)
	return v.Interval, err
}
