package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/all"
)

var scoreCommand = command{
	name:    "score",
	heading: theLine,
	usage:   "compute named rewards from stored trajectories",
	about: `A reward is a finite number, or null with the reason; a failed trajectory is
never scored. Given scores instead of trajectories, their named rewards are
carried forward and the total is summed again.

  rollmill score --in runs/demo/epoch-0/rollout --reward 'tree=command:./bin/tictactoe reward'
  rollmill score --in DATASET --reward 'exact*0.5=match:exact' --reward 'short=expr:len(answer) < 100 ? 1 : 0'
  rollmill score --in SCORES --only failed --out SCORES-2

A reward is NAME[*WEIGHT]=KIND:ARGUMENTS. Kinds:

` + rewardKinds(),
	flags: scoreFlags,
	run:   runScore,
}

func rewardKinds() string {
	text := ""
	for _, k := range all.Kinds {
		text += "  " + k.Name + ": " + k.Usage + "\n"
	}
	return text
}

func scoreFlags() []cli.Flag {
	flags := inFlags("trajectories, or scores to carry forward,")
	flags = append(flags, inCategory(aboutRows,
		&cli.StringSliceFlag{Name: "reward", Usage: "compute `NAME[*WEIGHT]=KIND:ARGUMENTS`"},
		&cli.StringSliceFlag{Name: "only", Usage: "compute `WHAT`: missing, failed, changed or a reward's name; the rest is carried over from --from"},
		&cli.StringFlag{Name: "from", Usage: "the earlier scores' `URI`, of the same trajectories or of those that they extend; default: the input, when it is scores"},
		&cli.StringSliceFlag{Name: "uses", Usage: "the values depend on the content of this `FILE`, too"},
		&cli.Int64Flag{Name: "seed", Usage: "`SEED` that programs derive theirs from"},
		validationFlag(),
	)...)
	flags = append(flags, inCategory(aboutRunning,
		&cli.IntFlag{Name: "workers", Usage: "score `N` batches at once", DefaultText: "one per processor"},
		&cli.IntFlag{Name: "batch-rows", Value: 64, Usage: "hand `N` rows to a reward at once"},
		&cli.StringSliceFlag{Name: "reward-env", Usage: "pass the environment variable `NAME` to reward programs; without it they get none that is called as secrets are (KEY, TOKEN, PASSWORD, ...)"},
		&cli.DurationFlag{Name: "timeout", Value: time.Minute, Usage: "wait at most `TIME` for a program's next answer"},
	)...)
	flags = append(flags, judgeFlags()...)
	flags = append(flags, inCategory(aboutGates,
		&cli.Float64Flag{Name: "max-failure-rate", Value: 0.5, Usage: "refuse a larger `SHARE` of unscored among the trajectories that did not fail"})...)
	return append(flags, outFlags("the sibling \"score\" of the input")...)
}

// scoreOptions reads everything but the input, the output and the process.
func scoreOptions(c *cli.Context) (score.Options, error) {
	o := score.Options{
		Kinds:          all.Kinds,
		Uses:           c.StringSlice("uses"),
		PassEnv:        c.StringSlice("reward-env"),
		Seed:           c.Int64("seed"),
		Workers:        c.Int("workers"),
		BatchRows:      c.Int("batch-rows"),
		Timeout:        c.Duration("timeout"),
		MaxFailureRate: float(c, "max-failure-rate"),
	}
	for _, text := range c.StringSlice("reward") {
		spec, err := score.ParseReward(text)
		if err != nil {
			return o, err
		}
		o.Rewards = append(o.Rewards, spec)
	}
	return o, nil
}

func runScore(ctx context.Context, s *session) error {
	o, err := scoreOptions(s.flags)
	if err != nil {
		return err
	}
	if o.In, err = s.input(); err != nil {
		return err
	}
	if o.Out, err = s.output(o.In.URI); err != nil {
		return err
	}
	if o.Judging, err = judging(ctx, s, s.flags, o.Out.URI); err != nil {
		return err
	}
	o.Only = s.flags.StringSlice("only")
	o.From = stages.Input{URI: s.flags.String("from"), AcceptGates: o.In.AcceptGates}
	o.Env = s.stageEnv()
	r, err := score.Run(ctx, o)
	return s.finish(r, r, err)
}
