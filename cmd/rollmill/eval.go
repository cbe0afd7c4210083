package main

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/pipelines/eval"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/storage"
)

var evalCommand = command{
	name:    "eval",
	heading: aroundIt,
	usage:   "measure a policy on held-out examples: rollout and score, nothing is trained",
	about: `Rollout and score are set by their own sections of the config file, after the
section validation. It prints the mean reward and its spread, pass@k, and their
intervals over the examples; --slice makes a table by a field of the examples.
A trajectory that failed is left out and counted. With --in it measures scores
that are there already.

  rollmill eval --config rollmill.yaml --examples held-out.jsonl --generations 8 --policy runs/demo/policy
  rollmill eval --in runs/demo/epoch-0/score --k 1 --k 4 --slice level`,
	flags: evalFlags,
	run:   runEval,
}

func evalFlags() []cli.Flag {
	flags := inFlags("existing scores")
	flags = append(flags, inCategory(aboutRows,
		&cli.StringFlag{Name: "examples", Usage: "held-out examples are in the task file at this `URI`; default: validation.examples"},
		&cli.IntFlag{Name: "generations", Usage: "attempt each example `N` times", DefaultText: "validation.generations, else rollout's"},
		&cli.StringFlag{Name: "policy", Usage: "take endpoint, model and version from the receipt at this `URI`; default: rollout's"},
	)...)
	flags = append(flags, inCategory("What is measured",
		&cli.StringSliceFlag{Name: "k", Usage: "pass@`K`", DefaultText: "1, 2, 4, ... up to the attempts"},
		&cli.Float64Flag{Name: "solved-threshold", Value: group.DefaultSolvedThreshold, Usage: "a reward of at least `X` counts as solved"},
		&cli.StringSliceFlag{Name: "slice", Usage: "a table by this `FIELD` of the examples"},
		&cli.Float64Flag{Name: "confidence", Value: 0.95, Usage: "of the intervals, as a `SHARE`"},
		&cli.BoolFlag{Name: "failures-count", Usage: "a trajectory without a reward is an unsolved attempt"},
	)...)
	return append(flags, inCategory(aboutOutput, append(runFlags(),
		&cli.StringFlag{Name: "out", Usage: "keep the datasets rollout and score at this `URI`; default: the root's folder eval"})...)...)
}

func measureOptions(c *cli.Context) (eval.MeasureOptions, error) {
	o := eval.MeasureOptions{Solved: c.Float64("solved-threshold"), Slices: c.StringSlice("slice"), Confidence: c.Float64("confidence"),
		FailuresCount: c.Bool("failures-count"), AcceptGates: c.StringSlice("accept-gate")}
	for _, text := range c.StringSlice("k") {
		k, err := strconv.Atoi(text)
		if err != nil {
			return o, usage("write --k 1 --k 4", "--k %q is not a number", text)
		}
		o.K = append(o.K, k)
	}
	return o, o.Validate()
}

func runEval(ctx context.Context, s *session) error {
	m, err := measureOptions(s.flags)
	if err != nil {
		return err
	}
	var result *eval.Result
	if s.flags.String("in") != "" {
		in, err := s.input()
		if err != nil {
			return err
		}
		if result, err = eval.Measure(ctx, in.URI, m); err != nil {
			return err
		}
	} else {
		o, err := evalOptions(ctx, s)
		if err != nil {
			return err
		}
		o.Measure = m
		if result, err = eval.Run(ctx, o); err != nil {
			return err
		}
	}
	for _, r := range result.Stages {
		s.say("%s", summary(r))
	}
	return s.print(result, result.WriteText)
}

// evalOptions makes rollout's and score's as for a validation.
func evalOptions(ctx context.Context, s *session) (eval.Options, error) {
	run, root := runAndRoot(s.flags)
	o := eval.Options{Root: s.flags.String("out"), Env: s.stageEnv()}
	if o.Root == "" {
		o.Root = storage.Join(root, "eval")
	}
	args := []string{"--run", run, "--root", root, "--" + validation}
	for _, name := range []string{"examples", "policy"} {
		if v := s.flags.String(name); v != "" {
			args = append(args, "--"+name, v)
		}
	}
	if n := integer(s.flags, "generations"); n != nil {
		args = append(args, "--generations", strconv.Itoa(*n))
	}
	var err error
	o.Rollout, o.Score, err = sampleOptions(ctx, s, args)
	if s.flags.String("root") == "" && s.flags.String("out") != "" {
		o.Rollout.Root = "" // the default root has nothing to do with it
	}
	return o, err
}
