package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/algorithms/all"
)

var groupCommand = command{
	name:    "group",
	heading: theLine,
	usage:   "form groups by example and compute advantages",
	about: `All trajectories of one example in one epoch are a group. Failed and unscored
ones never vote: their advantage is null and they change nobody's. Rows of a
group may lie anywhere in the dataset; where they do, they are sorted on disk.

  rollmill group --in runs/demo/epoch-0/score --compat art
  rollmill group --in runs/demo/epoch-0/score --scores runs/demo/epoch-0/judged --out runs/demo/epoch-0/group`,
	flags: groupFlags,
	run:   runGroup,
}

func groupFlags() []cli.Flag {
	flags := inFlags("scores, or trajectories with rewards,")
	flags = append(flags, inCategory(aboutRows,
		&cli.StringFlag{Name: "by", Value: "example_id", Usage: "form groups, in each epoch, by the value of this `EXPRESSION` over a trajectory's columns, such as metadata.topic"},
		&cli.StringFlag{Name: "estimator", Value: "grpo", Usage: "how rewards become advantages: `NAME` of " + strings.Join(all.Algorithms.Names(), ", ")},
		&cli.StringFlag{Name: "compat", Value: string(group.CompatNone), Usage: "compute exactly as `TRAINER` would: " + words(group.Compats)},
		&cli.BoolFlag{Name: "no-scale", Usage: "do not divide by the standard deviation"},
		&cli.StringFlag{Name: "pairs", Usage: "make preference pairs into _pairs: `MODE` of " + words(group.PairModes)},
		&cli.StringFlag{Name: "pairs-from", Usage: "pair `WHAT` of " + words(group.PairSources) + "; default: trajectories, or candidates with --compat nat"},
		&cli.IntFlag{Name: "pair-top", Usage: "with top-k, pair the `K` best with the K worst", DefaultText: "2"},
		&cli.Float64Flag{Name: "pair-margin", Usage: "pair only what differs by at least `X`"},
		&cli.IntFlag{Name: "pair-limit", Usage: "make at most `N` pairs of a group, or of a turn; 0: no limit"},
		&cli.BoolFlag{Name: "pair-ties", Usage: "pair equal scores too"},
		&cli.BoolFlag{Name: "pair-once", Usage: "of a group's pairs that say the same make one"},
		&cli.BoolFlag{Name: "labels", Usage: "label scored trajectories into _labels, for KTO: wanted ones reach --solved-threshold"},
		&cli.Float64Flag{Name: "solved-threshold", Value: group.DefaultSolvedThreshold, Usage: "a reward of at least `X` counts as solved"},
		&cli.Float64Flag{Name: "flat-tolerance", Usage: "rewards within this relative `SPREAD` are the same", DefaultText: "1e-12"},
	)...)
	flags = append(flags, inCategory(aboutInput,
		&cli.StringSliceFlag{Name: "scores", Usage: "join the rewards of the scores at this `URI` to those of the input, scores of the same trajectories, and sum the total again"},
		&cli.BoolFlag{Name: "allow-unscored", Usage: "group trajectories although none of them was ever scored"},
	)...)
	flags = append(flags, spillFlags("groups that do not lie together")...)
	flags = append(flags, inCategory(aboutGates,
		&cli.Float64Flag{Name: "min-groups", Usage: "refuse fewer than `N` groups with an advantage"},
		&cli.Float64Flag{Name: "max-flat-groups", Usage: "refuse a larger `SHARE` of flat groups"},
	)...)
	return append(flags, outFlags("the sibling \"group\" of the input")...)
}

// groupOptions reads everything but the input, the output and the process.
func groupOptions(c *cli.Context) (group.Options, error) {
	return group.Options{
		Algorithms: all.Algorithms,
		Estimator:  c.String("estimator"),
		Compat:     group.Compat(c.String("compat")),
		NoScale:    c.Bool("no-scale"),
		Labels:     c.Bool("labels"),
		Pairs: group.Pairs{
			Mode: group.PairMode(c.String("pairs")), From: group.PairSource(c.String("pairs-from")), Top: c.Int("pair-top"),
			Margin: c.Float64("pair-margin"), Limit: c.Int("pair-limit"), Ties: c.Bool("pair-ties"), Once: c.Bool("pair-once"),
		},
		By:              c.String("by"),
		AllowUnscored:   c.Bool("allow-unscored"),
		SolvedThreshold: float(c, "solved-threshold"),
		FlatTolerance:   float(c, "flat-tolerance"),
		MinGroups:       float(c, "min-groups"),
		MaxFlatGroups:   float(c, "max-flat-groups"),
	}, nil
}

func runGroup(ctx context.Context, s *session) error {
	o, err := groupOptions(s.flags)
	if err != nil {
		return err
	}
	if o.In, err = s.input(); err != nil {
		return err
	}
	if o.Out, err = s.output(o.In.URI); err != nil {
		return err
	}
	for _, uri := range s.flags.StringSlice("scores") {
		o.Scores = append(o.Scores, stages.Input{URI: uri, AcceptGates: o.In.AcceptGates})
	}
	o.Env, o.Spill = s.stageEnv(), s.spill()
	smallHeap()
	r, err := group.Run(ctx, o)
	return s.finish(r, r, err)
}

// words lists the values of a closed set of strings.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
