package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/all"
)

var curateCommand = command{
	name:    "curate",
	heading: theLine,
	usage:   "decide what is worth training on",
	about: `Flat groups teach nothing and are dropped; a curriculum begins with the easiest
groups and grows from epoch to epoch. Every trajectory is kept, or dropped with
a reason that stands in _decisions. The result is self-contained. An empty
result is a result.

  rollmill curate --in runs/demo/epoch-1/group --previous runs/demo/epoch-0/curate --curriculum`,
	flags: curateFlags,
	run:   runCurate,
}

func curateFlags() []cli.Flag {
	flags := inFlags("groups")
	flags = append(flags, inCategory(aboutInput,
		&cli.StringFlag{Name: "previous", Usage: "go on with the curriculum of the curated dataset at this `URI`, of the epoch before"})...)
	flags = append(flags, inCategory(aboutRows,
		&cli.IntFlag{Name: "epoch", Usage: "epoch `N`, from 0; default: that of the groups"},
		&cli.Int64Flag{Name: "seed", Usage: "`SEED` of every random choice"},
		&cli.StringFlag{Name: "compat", Value: string(curate.CompatNone), Usage: "behave exactly as `HARNESS` does: " + words(curate.Compats)},
		&cli.BoolFlag{Name: "keep-flat", Usage: "keep groups whose rewards are all the same"},
		&cli.Float64Flag{Name: "flat-tolerance", Usage: "rewards within this relative `SPREAD` are the same", DefaultText: "1e-12"},
		&cli.IntFlag{Name: "min-valid", Usage: "drop groups with fewer than `N` scored members", DefaultText: "2"},
		&cli.BoolFlag{Name: "curriculum", Usage: "train on a share of the groups that grows"},
		&cli.Float64Flag{Name: "curriculum-initial", Value: curate.DefaultInitial, Usage: "begin with this `SHARE` of the groups"},
		&cli.Float64Flag{Name: "curriculum-increment", Value: curate.DefaultIncrement, Usage: "add this `SHARE` at each expansion"},
		&cli.IntFlag{Name: "curriculum-interval", Value: curate.DefaultInterval, Usage: "expand every `N` epochs"},
		&cli.BoolFlag{Name: "curriculum-ascending", Usage: "lowest mean reward first, instead of highest"},
		&cli.Float64Flag{Name: "min-reward-diff", Usage: "with a curriculum, drop groups whose rewards differ by less than `X`", DefaultText: "0.1"},
		&cli.Float64Flag{Name: "random-subsample", Usage: "with a curriculum, keep a random `SHARE` of the trajectories of each chosen group"},
	)...)
	flags = append(flags, inCategory(aboutGates,
		&cli.Float64Flag{Name: "min-groups", Usage: "refuse fewer than `N` kept groups"},
		&cli.IntFlag{Name: "empty-exit-code", Usage: "exit with `CODE` when nothing is kept; the empty dataset is written all the same"},
	)...)
	return append(flags, outFlags("the sibling \"curate\" of the input")...)
}

// curateOptions reads everything but the inputs, the output and the process.
func curateOptions(c *cli.Context) (curate.Options, error) {
	return curate.Options{
		Rules:         all.Rules,
		Epoch:         integer(c, "epoch"),
		Seed:          c.Int64("seed"),
		Compat:        curate.Compat(c.String("compat")),
		KeepFlat:      c.Bool("keep-flat"),
		FlatTolerance: float(c, "flat-tolerance"),
		MinValid:      c.Int("min-valid"),
		MinGroups:     float(c, "min-groups"),
		Curriculum: curate.Curriculum{
			Enabled:         c.Bool("curriculum"),
			Initial:         c.Float64("curriculum-initial"),
			Increment:       c.Float64("curriculum-increment"),
			Interval:        c.Int("curriculum-interval"),
			MinRewardDiff:   float(c, "min-reward-diff"),
			Ascending:       c.Bool("curriculum-ascending"),
			RandomSubsample: float(c, "random-subsample"),
		},
	}, nil
}

func runCurate(ctx context.Context, s *session) error {
	o, err := curateOptions(s.flags)
	if err != nil {
		return err
	}
	code := s.flags.Int("empty-exit-code")
	if code < 0 || code > 255 {
		return usage("", "--empty-exit-code %d is not from 0 to 255", code)
	}
	if o.In, err = s.input(); err != nil {
		return err
	}
	o.Previous = stages.Input{URI: s.flags.String("previous"), AcceptGates: o.In.AcceptGates}
	if o.Out, err = s.output(o.In.URI); err != nil {
		return err
	}
	o.Env = s.stageEnv()
	r, err := curate.Run(ctx, o)
	if err = s.finish(r, r, err); err == nil && r.Sealed && r.Rows == 0 && code != 0 {
		return exitWith{code, "nothing is worth training on"}
	}
	return err
}
