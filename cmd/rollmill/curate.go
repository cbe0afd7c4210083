package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/all"
	"github.com/rollmill/rollmill/stages/group"
	algorithms "github.com/rollmill/rollmill/stages/group/algorithms/all"
)

var curateCommand = command{
	name:    "curate",
	heading: theLine,
	usage:   "decide what is worth training on",
	about: `Flat groups teach nothing and are dropped; a curriculum begins with the easiest
groups and grows from epoch to epoch. Every trajectory is kept, or dropped with
a reason that stands in _decisions. The table _plan says which examples deserve
more generations, and why: rollout --plan makes them. The result is
self-contained. An empty result is a result.

A --filter reads a group's columns of _groups (group.mean, group.failed,
group.solved_count, group.pass_at_k[3], …) and, of each trajectory, reward,
rewards.NAME, advantage, answer, status, stop_reason, model, metadata.NAME,
messages, calls, policy_version and the counts of tokens (trajectory.reward).

  rollmill curate --in runs/demo/epoch-1/group --previous runs/demo/epoch-0/curate --curriculum`,
	flags: curateFlags,
	run:   runCurate,
}

func curateFlags() []cli.Flag {
	flags := inCategory(aboutInput,
		&cli.StringSliceFlag{Name: "in", Usage: "read groups at this `URI`; - takes it from stdin; more of them are trained on again beside the first"},
		&cli.StringSliceFlag{Name: "accept-gate", Usage: "read the input although the gate `NAME` refused it"},
	)
	flags = append(flags, inCategory(aboutInput,
		&cli.StringSliceFlag{Name: "holdout", Usage: "train on no example that is in the rollouts at this `URI`"},
		&cli.StringFlag{Name: "previous", Usage: "go on with the curriculum and the pools of the curated dataset at this `URI`, of the epoch before"})...)
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
		&cli.Int64Flag{Name: "policy-version", Usage: "the policy of version `N` is trained; with --max-staleness"},
		&cli.Int64Flag{Name: "max-staleness", Usage: "drop what a policy more than `N` versions older sampled"},
		&cli.BoolFlag{Name: "check-logprobs", Usage: "drop what has no sound log probabilities: missing, NaN, too few, at a floor, raw at a temperature other than 1"},
		&cli.BoolFlag{Name: "any-temperature", Usage: "with --check-logprobs, they may be raw at any temperature"},
		&cli.Float64Flag{Name: "logprob-floor", Usage: "with --check-logprobs, one of `X` or less says nothing", DefaultText: "-9999"},
		&cli.IntFlag{Name: "max-sampled-tokens", Usage: "drop trajectories of more than `N` sampled tokens"},
		&cli.IntFlag{Name: "max-sequence-tokens", Usage: "drop trajectories with a call of more than `N` tokens, prompt and answer"},
		&cli.IntFlag{Name: "min-messages", Usage: "drop trajectories of fewer than `N` messages"},
		&cli.BoolFlag{Name: "drop-duplicates", Usage: "drop members that say what an earlier one of their group says"},
		&cli.Float64Flag{Name: "drop-near-duplicates", Usage: "drop members that are at least so `LIKE` an earlier one of their group; 1 is the same but for case and blanks"},
		&cli.StringFlag{Name: "split", Usage: "split the examples by the seed into `SIDES`, such as train=0.9,validation=0.1; with --take"},
		&cli.StringFlag{Name: "take", Usage: "keep the `SIDE` of the split; curate once for each"},
		&cli.BoolFlag{Name: "pools", Usage: "take fewer groups of examples that were always or never solved when they were last rolled out"},
		&cli.Float64Flag{Name: "pool-easy-from", Usage: "with --pools, an example is easy from this `SHARE` of solved members", DefaultText: "1"},
		&cli.Float64Flag{Name: "pool-hard-to", Usage: "with --pools, an example is hard up to this `SHARE` of solved members", DefaultText: "0"},
		&cli.Float64Flag{Name: "pool-easy-share", Usage: "with --pools, take this `SHARE` of easy examples' groups", DefaultText: "0.25"},
		&cli.Float64Flag{Name: "pool-hard-share", Usage: "with --pools, take this `SHARE` of hard examples' groups", DefaultText: "0.25"},
		&cli.StringSliceFlag{Name: "filter", Usage: "keep what `EXPRESSION` is true of, such as 0 < group.mean && trajectory.sampled_tokens < 4000"},
		&cli.Float64Flag{Name: "sample-groups", Usage: "keep a random `SHARE` of the groups"},
		&cli.Float64Flag{Name: "sample-trajectories", Usage: "keep a random `SHARE` of the trajectories"},
		&cli.Int64Flag{Name: "token-budget", Usage: "keep groups, in random order, while their sampled tokens fit into `N`"},
		&cli.IntFlag{Name: "best-of", Usage: "keep the `N` best of each group, for supervised fine-tuning"},
		&cli.IntFlag{Name: "max-per-group", Usage: "keep `N` of each group, chosen at random"},
		&cli.IntFlag{Name: "max-per-example", Usage: "keep the `N` newest groups of each example, when epochs are trained on again"},
		&cli.BoolFlag{Name: "recompute", Usage: "compute advantages anew from the members that are left"},
		&cli.IntFlag{Name: "plan-generations", Usage: "_plan asks for more of groups with fewer than `N` trajectories that did not fail, and N more of flat ones", DefaultText: "rollout's --generations"},
		&cli.IntFlag{Name: "plan-max-per-example", Usage: "_plan asks for no more than makes `N` trajectories of an example in all", DefaultText: "twice --plan-generations"},
		&cli.Int64Flag{Name: "plan-budget", Usage: "_plan asks for `N` trajectories in all at most, and what is left of them goes where rewards differ most", DefaultText: "no limit"},
	)...)
	flags = append(flags, spillFlags("groups that do not lie together")...)
	flags = append(flags, inCategory(aboutGates,
		&cli.Float64Flag{Name: "min-groups", Usage: "refuse fewer than `N` kept groups"},
		&cli.IntFlag{Name: "empty-exit-code", Usage: "exit with `CODE` when nothing is kept; the empty dataset is written all the same"},
	)...)
	return append(flags, outFlags("the sibling \"curate\" of the input")...)
}

// curateOptions reads everything but the inputs, the output and the process.
func curateOptions(c *cli.Context) (curate.Options, error) {
	o := curate.Options{
		Rules:         all.Rules,
		Epoch:         integer(c, "epoch"),
		Seed:          c.Int64("seed"),
		Compat:        curate.Compat(c.String("compat")),
		KeepFlat:      c.Bool("keep-flat"),
		FlatTolerance: float(c, "flat-tolerance"),
		MinValid:      c.Int("min-valid"),
		MinGroups:     float(c, "min-groups"),

		PolicyVersion:      integer64(c, "policy-version"),
		MaxStaleness:       integer64(c, "max-staleness"),
		CheckLogprobs:      c.Bool("check-logprobs"),
		AnyTemperature:     c.Bool("any-temperature"),
		LogprobFloor:       float(c, "logprob-floor"),
		MaxSampledTokens:   c.Int("max-sampled-tokens"),
		MaxSequenceTokens:  c.Int("max-sequence-tokens"),
		MinMessages:        c.Int("min-messages"),
		DropDuplicates:     c.Bool("drop-duplicates"),
		Filters:            c.StringSlice("filter"),
		SampleGroups:       float(c, "sample-groups"),
		SampleTrajectories: float(c, "sample-trajectories"),
		TokenBudget:        c.Int64("token-budget"),
		BestOf:             c.Int("best-of"),
		MaxPerGroup:        c.Int("max-per-group"),
		MaxPerExample:      c.Int("max-per-example"),
		NearDuplicates:     float(c, "drop-near-duplicates"),
		Take:               c.String("take"),
		Pools: curate.Pools{
			Enabled:   c.Bool("pools"),
			EasyFrom:  float(c, "pool-easy-from"),
			HardTo:    float(c, "pool-hard-to"),
			EasyShare: float(c, "pool-easy-share"),
			HardShare: float(c, "pool-hard-share"),
		},
		Curriculum: curate.Curriculum{
			Enabled:         c.Bool("curriculum"),
			Initial:         c.Float64("curriculum-initial"),
			Increment:       c.Float64("curriculum-increment"),
			Interval:        c.Int("curriculum-interval"),
			MinRewardDiff:   float(c, "min-reward-diff"),
			Ascending:       c.Bool("curriculum-ascending"),
			RandomSubsample: float(c, "random-subsample"),
		},
	}
	o.Next = curate.Next{Generations: c.Int("plan-generations"), MaxPerExample: c.Int("plan-max-per-example"), Budget: integer64(c, "plan-budget")}
	if text := c.String("split"); text != "" {
		var err error
		if o.Split, err = curate.ParseSplit(text); err != nil {
			return o, err
		}
	}
	for _, uri := range c.StringSlice("holdout") {
		o.Holdout = append(o.Holdout, stages.Input{URI: uri})
	}
	if c.Bool("recompute") {
		o.Recompute = func(s formats.GroupState) (func([]formats.Member) error, error) {
			return group.Recompute(algorithms.Algorithms, s)
		}
	}
	return o, nil
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
	if o.In, o.Replay, err = curateInputs(s); err != nil {
		return err
	}
	o.Previous = stages.Input{URI: s.flags.String("previous"), AcceptGates: o.In.AcceptGates}
	if o.Out, err = s.output(o.In.URI); err != nil {
		return err
	}
	o.Env, o.Spill = s.stageEnv(), s.spill()
	smallHeap()
	r, err := curate.Run(ctx, o)
	if err = s.finish(r, r, err); err == nil {
		s.funnel(r.Funnel)
	}
	if err == nil && r.Sealed && r.Rows == 0 && code != 0 {
		return exitWith{code, "nothing is worth training on"}
	}
	return err
}

// funnel shows what each rule refused; a log has it in the report.
func (s *session) funnel(steps []formats.Sieve) {
	var b strings.Builder
	if !s.logJSON && len(steps) > 0 && formats.WriteFunnel(&b, steps) == nil {
		s.say("%s", strings.TrimRight(b.String(), "\n"))
	}
}

// curateInputs are the groups of this epoch, and those that are replayed.
func curateInputs(s *session) (first stages.Input, more []stages.Input, err error) {
	for _, uri := range s.flags.StringSlice("in") {
		if uri, err = s.uri("in", uri); err != nil {
			return first, nil, err
		}
		more = append(more, stages.Input{URI: uri, AcceptGates: s.flags.StringSlice("accept-gate")})
	}
	if len(more) == 0 {
		return first, nil, usage("name the dataset to read: --in URI, or --in - to take it from stdin", "no input")
	}
	return more[0], more[1:], nil
}
