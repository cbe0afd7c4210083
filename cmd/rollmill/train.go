package main

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var trainCommand = command{
	name:    "train",
	heading: aroundIt,
	usage:   "run the line for several epochs in one process",
	about: `The stages' settings are their own sections of the config file. Datasets lie
where the five commands would put them, so a run that was begun here can be
finished by them, and the reverse; killed and run again, it goes on where it
stopped. Before epoch e, when the validation interval divides e, the policy
plays the held-out examples of section validation, which is never trained on.

  rollmill train --config rollmill.yaml --epochs 15`,
	flags: trainFlags,
	run:   runTrain,
}

func trainFlags() []cli.Flag {
	flags := inCategory(aboutRows,
		&cli.IntFlag{Name: "epochs", Value: 1, Usage: "train for `N` epochs"},
		&cli.IntFlag{Name: "validation-interval", Usage: "validate before every `N`th epoch and after the last; default: validation.interval, else never"},
		&cli.StringFlag{Name: "validation-examples", Usage: "held-out examples are in the task file at this `URI`; default: validation.examples"},
	)
	return append(flags, inCategory(aboutOutput, runFlags()...)...)
}

func runTrain(ctx context.Context, s *session) error {
	o, err := trainOptions(ctx, s)
	if err != nil {
		return err
	}
	if err := checkStages(o); err != nil {
		return err
	}
	if _, err := check(ctx, probes(o)); err != nil {
		return err
	}
	o.Env = s.stageEnv()
	report, err := train.Run(ctx, o)
	if err != nil {
		return err
	}
	s.say("train: %d epochs in %s", o.Epochs, report.Root)
	return s.result(report.Root, report)
}

// trainOptions makes the stages' options as their own commands would.
func trainOptions(ctx context.Context, s *session) (train.Options, error) {
	run, root := runAndRoot(s.flags)
	o := train.Options{Root: root, Epochs: s.flags.Int("epochs")}
	every, err := validationInterval(s)
	if err != nil {
		return o, err
	}
	args := []string{"--run", run, "--root", root}
	if o.Rollout, o.Score, err = sampleOptions(ctx, s, args); err != nil {
		return o, err
	}
	if every > 0 {
		o.Validation = &train.Validation{Every: every}
		args := append(args, "--validation")
		if examples := s.flags.String("validation-examples"); examples != "" {
			args = append(args, "--examples", examples)
		}
		if o.Validation.Rollout, o.Validation.Score, err = sampleOptions(ctx, s, args); err != nil {
			return o, err
		}
	}
	c, err := s.section(groupCommand)
	if err != nil {
		return o, err
	}
	if o.Group, err = groupOptions(c); err != nil {
		return o, err
	}
	if c, err = s.section(curateCommand); err != nil {
		return o, err
	}
	if o.Curate, err = curateOptions(c); err != nil {
		return o, err
	}
	if c, err = s.section(submitCommand, args...); err != nil {
		return o, err
	}
	if c.String("backend") == "file" {
		return o, usage("use the five commands, and train elsewhere", "--backend file trains nothing, so there is no next epoch")
	}
	ledger := cmp.Or(c.String("ledger"), root)
	o.FindLedger = func(ctx context.Context, in string, run dataset.Run, submitting *submit.Options) error {
		uri, err := s.ledger(ctx, c, in, run, root)
		if err != nil || uri == ledger {
			return err
		}
		return openLedger(ctx, uri, submitting)
	}
	o.Submit, err = submitOptions(ctx, s, c, ledger, storage.Join(root, "policy"))
	return o, err
}

// checkStages finds what is wrong with a stage's settings before the first
// epoch. What only the run will know is filled in with what cannot be wrong.
func checkStages(o train.Options) error {
	in, out := stages.Input{URI: "in"}, stages.Output{URI: "out"}
	samples := []train.Validation{{Rollout: o.Rollout, Score: o.Score}}
	if o.Validation != nil {
		samples = append(samples, *o.Validation)
	}
	for _, v := range samples {
		v.Rollout.Out, v.Score.In, v.Score.Out = out, in, out
		if v.Rollout.Policy == nil {
			v.Rollout.Policy = &formats.Policy{URL: "http://127.0.0.1/v1", Model: "policy"}
		}
		if err := errors.Join(v.Rollout.Validate(), v.Score.Validate()); err != nil {
			return err
		}
	}
	o.Group.In, o.Group.Out, o.Curate.In, o.Curate.Out, o.Submit.In = in, out, in, out, in
	return errors.Join(o.Validate(), o.Group.Validate(), o.Curate.Validate(), o.Submit.Validate())
}

// sampleOptions are those of rollout and score. args are flags of rollout;
// score takes --validation alone.
func sampleOptions(ctx context.Context, s *session, args []string) (r rollout.Options, sc score.Options, err error) {
	c, err := s.section(rolloutCommand, args...)
	if err != nil {
		return r, sc, err
	}
	if c.String("plan") != "" || c.String("extend") != "" {
		return r, sc, usage("use the five commands for an epoch that is extended", "rollout.plan and rollout.extend are of one epoch, and train runs several")
	}
	if r, err = rolloutOptions(ctx, s, c); err != nil {
		return r, sc, err
	}
	if c.Bool(validation) {
		c, err = s.section(scoreCommand, "--validation")
	} else {
		c, err = s.section(scoreCommand)
	}
	if err != nil {
		return r, sc, err
	}
	if sc, err = scoreOptions(c); err != nil {
		return r, sc, err
	}
	_, root := runAndRoot(s.flags)
	sc.Judging, err = judging(ctx, s, c, storage.Join(root, "score"))
	return r, sc, err
}

// validationInterval is the flag's, or that of section validation.
func validationInterval(s *session) (int, error) {
	if s.flags.IsSet("validation-interval") {
		return s.flags.Int("validation-interval"), nil
	}
	st, ok := s.config.find([]string{validation}, "interval")
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(st.Values[0])
	if err != nil || n < 0 || len(st.Values) > 1 {
		return 0, usage("", "%s: validation.interval: %q is not a number of epochs", st.Where, st.Values)
	}
	return n, nil
}
