package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/eval"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

var evalCommand = cli.Command{
	Name:     "eval",
	Heading:  settings.MeasureHeading,
	Usage:    "measure a policy on held-out examples by rollout and score, without training",
	Required: "--examples and a policy, as for rollout, with the rewards in --config; or --in, with existing scores",
	About: `Rollout and score take their settings from section validation of the config
file, then from their own sections. The output is the mean reward and its spread,
pass@k, their confidence intervals over the examples, the tokens and seconds of all
attempts per solved one, and which examples always or never passed. --json has the
figures of each example; --slice adds a table by a field of the examples.
There is no --sort: the tables are of examples, in the order of the scores.
Failed trajectories are excluded and counted. With --in it measures existing scores.
--against says which of two policies is better: the difference of each example, its
band, p, wins, losses and flips, or that it is not decided, and why.

  rollmill eval --config rollmill.yaml --examples held-out.jsonl --generations 8 --policy runs/demo/policy
  rollmill eval --in runs/demo/epoch-0/score --k 1 --k 4 --slice level
  rollmill eval --in runs/b/eval/score --against runs/a/eval`,
	Scans: true,
	Body: cli.With(func() *evalSettings {
		return &evalSettings{Source: settings.Source{Does: "read existing scores"},
			Measure: eval.MeasureOptions{Solved: group.DefaultSolvedThreshold, Confidence: 0.95}}
	}, runEval),
}

// evalSettings are the settings of eval itself; those of rollout and score are in
// their sections.
type evalSettings struct {
	settings.Source
	Measure     eval.MeasureOptions
	Against     string
	Examples    string
	Generations *int
	Policy      string
	Out         string
	settings.RunPlace
	settings.Monitored
}

func (c *evalSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.Source)
	d.Heading(plugin.Input)
	d.String(&c.Examples, "examples", "read the held-out examples from the task file at this `URI`").
		DefaultShown("validation.examples").WrittenToRows().Common()
	d.OptionalInt(&c.Generations, "generations", "attempt each example `N` times").Min(1).
		DefaultShown("validation.generations, else rollout's").Common()
	d.String(&c.Policy, "policy", "read endpoint, model and version from the receipt at this `URI`").DefaultShown("rollout's").
		WrittenToRows().Common()
	d.Heading("Measures")
	plugin.List(d, &c.Measure.K, "k", "measure pass@`K`, K attempts at an example", parseK).
		DefaultShown("1, 2, 4, ... up to the attempts").Common()
	declareSolved(d, &c.Measure.Solved)
	d.Strings(&c.Measure.Slices, "slice", "add a table by this `FIELD` of the examples").Common()
	d.String(&c.Measure.Where, "where", "measure only trajectories for which `EXPRESSION` is true, as in show --where")
	d.Float(&c.Measure.Confidence, "confidence", "compute intervals at this confidence level, a `SHARE` between 0 and 1")
	d.String(&c.Against, "against", "compare with the scores, or the eval, at this `URI`, example by example").Common()
	settings.DeclarePrices(d, &c.Measure.Prices)
	d.Bool(&c.Measure.FailuresCount, "failures-count", "count a trajectory without a reward as an unsolved attempt")
	d.Include(&c.RunPlace)
	d.Heading(plugin.Output)
	d.String(&c.Out, "out", "write the datasets rollout and score under this `URI`").DefaultShown("the root's folder eval").
		WrittenToRows().Common()
	d.Include(&c.Monitored)
}

func declareSolved(d *plugin.Declarer, p *float64) {
	d.Float(p, "solved-threshold", "count a reward of at least `X` as solved")
}

func parseK(text string) (int, error) {
	k, err := strconv.Atoi(text)
	if err != nil {
		return 0, plugin.Badf("write --k 1 --k 4", "%q is not a number", text)
	}
	return k, nil
}

func runEval(ctx context.Context, s *cli.Session, c *evalSettings) error {
	m := c.Measure
	m.AcceptGates = c.AcceptGates
	if err := m.Validate(); err != nil {
		return err
	}
	var result *eval.Result
	if c.URI != "" {
		in, err := c.Source.Open(s)
		if err != nil {
			return err
		}
		if result, err = eval.Measure(ctx, in.URI, m); err != nil {
			return err
		}
	} else {
		o, err := c.options(ctx, s)
		if err != nil {
			return err
		}
		if c.Against != "" { // what cannot be read is known before attempts are paid for
			if _, err := eval.Measure(ctx, c.Against, m); err != nil {
				return err
			}
		}
		o.Measure = m
		if result, err = eval.Run(ctx, o); err != nil {
			return err
		}
	}
	for _, r := range result.Stages {
		s.Say("%s", settings.Summary(r))
	}
	if c.Against != "" {
		return printComparison(ctx, s, c.Against, result.Scores, m)
	}
	return s.Print(result, result.WriteText)
}

// printComparison says whether the policy that the scores at b are of is better than that at a.
func printComparison(ctx context.Context, s *cli.Session, a, b string, m eval.MeasureOptions) error {
	c, err := eval.Against(ctx, a, b, m)
	if err != nil {
		return err
	}
	return s.Print(c, c.WriteText)
}

// options returns the options of rollout and score as for a validation.
func (c *evalSettings) options(ctx context.Context, s *cli.Session) (eval.Options, error) {
	run, root := c.Both()
	c.Place(s, nil, true)
	o := eval.Options{Root: cmp.Or(c.Out, storage.Join(root, "eval")), Env: s.Env()}
	var err error
	o.Rollout, o.Score, _, err = sampleOptions(ctx, s, root, func(r *rolloutSettings) {
		r.RunPlace.Run, r.RunPlace.Root, r.Validation = run, root, true
		r.TaskFile.Examples, r.PolicyURI = cmp.Or(c.Examples, r.TaskFile.Examples), cmp.Or(c.Policy, r.PolicyURI)
		if c.Generations != nil {
			r.Generations = *c.Generations
		}
	})
	if c.Root == "" && c.Out != "" {
		o.Rollout.Root = "" // the default root does not apply
	}
	return o, err
}
