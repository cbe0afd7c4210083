package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/builtin"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/tracing"
	"github.com/rollmill/rollmill/storage"
)

var rolloutCommand = cli.Command{
	Name:     "rollout",
	Heading:  settings.StagesHeading,
	Usage:    "run an agent on each example and record every model call",
	Required: "--examples, and an engine: --url and --model, or --policy with a receipt that names it",
	About: `The agent calls any OpenAI-compatible engine, through a proxy that records the
sampled tokens and their logprobs. Finished trajectories are written to a journal
every two seconds (--journal-every), and so are the answered calls of the others;
after a crash the same command runs only the trajectories that are not in it, and
asks the engine only for what it had not answered (--resume). The text of a large
task file is kept in a temporary file (in the folder TMPDIR).

  rollmill rollout --examples tasks.jsonl --user '{{.question}}' --url http://127.0.0.1:8000/v1 --model my-model
  rollmill rollout --examples tasks.jsonl --agent command --command './agent --fast' --generations 8 --policy runs/demo/epoch-0/submit

With --plan it makes the additional generations that curate planned, numbered
after the existing ones. --extend writes them together with a copy of the
rollouts that the plan was made from, so that score --from ... --only missing,
group and curate process whole groups and nothing is computed twice:

  rollmill rollout --config rollmill.yaml --plan runs/demo/epoch-0/curate --extend runs/demo/epoch-0/rollout`,
	Body: cli.With(newRolloutSettings, runRollout),
}

// rolloutSettings are the settings of rollout, with its inputs and output.
type rolloutSettings struct {
	rollout.Options
	settings.TaskFile
	PlanURI     string
	ExtendURI   string
	AcceptGates []string
	PolicyURI   string
	Validation  bool
	Traces      tracing.Settings
	settings.RunPlace
	settings.Target
	settings.Monitored
}

func newRolloutSettings() *rolloutSettings {
	return &rolloutSettings{
		Options: rollout.Options{Generations: 1, Agents: plugin.Pick(builtin.All, "chat"), Prober: openai.Probe},
		Traces:  tracing.Settings{Version: version()},
		Target:  settings.Target{Otherwise: "<root>/epoch-<epoch>/rollout; with --extend extended/rollout next to that dataset"},
	}
}

func (c *rolloutSettings) Declare(d *plugin.Declarer) {
	d.Include(&c.TaskFile)
	d.Heading(plugin.Input)
	d.String(&c.PlanURI, "plan",
		"attempt only the examples in the plan of the curated dataset at this `URI`, as often as planned; previous for that of the epoch "+
			"before, in every epoch but the first")
	d.String(&c.ExtendURI, "extend",
		"copy the rollouts at this `URI`, from which the plan was made, and add to them; with --plan")
	settings.DeclareGates(d, &c.AcceptGates)
	d.Include(&c.Options)
	d.Include(&c.Traces)
	d.Heading(plugin.Rows)
	d.String(&c.PolicyURI, "policy", "read endpoint, model and version from the receipt at this `URI` (submit's --out)").
		DefaultShown("in a run that began with submit --prepare, the receipt of the previous epoch").WrittenToRows().Common()
	d.Bool(&c.Validation, settings.Validation,
		"run held-out examples; section validation of the config file overrides the command's own")
	d.Include(&c.RunPlace)
	d.Include(&c.Target)
	d.Include(&c.Monitored)
}

// options returns the options of the stage, without its output and Env.
func (c *rolloutSettings) options(ctx context.Context, s *cli.Session) (o rollout.Options, err error) {
	o = c.Options
	o.Run, _ = c.Both()
	o.Root = c.RunPlace.Root
	if err := o.MakeAgent(ctx, openai.Client{}, s.Lookup); err != nil {
		return o, err
	}
	if o.Policy, err = c.Known(ctx, c.PolicyURI, c.Epoch); err != nil {
		return o, err
	}
	if o.Policy != nil && c.PolicyURI != "" && o.Model == "" {
		settings.WarnSuperseded(ctx, s, c.PolicyURI, o.Policy)
	}
	o.Extend = stages.Input{URI: c.ExtendURI, AcceptGates: c.AcceptGates}
	plan, err := c.plan(ctx)
	if err != nil {
		return o, err
	}
	if plan != "" {
		if o.Plan, err = planning.OpenPlan(ctx, stages.Input{URI: plan, AcceptGates: c.AcceptGates}); err != nil {
			return o, err
		}
	}
	o.Columns = c.TaskFile.Format.Names
	traces, err := tracing.New(&c.Traces, s.Logger())
	if err != nil {
		return o, err
	}
	s.Defer(traces)
	o.Finished = traces.Add
	o.Examples, o.ExamplesRef, err = c.TaskFile.Read(ctx, s, o.Agent)
	return o, err
}

// planPrevious is the --plan of the epoch before.
const planPrevious = "previous"

// plan returns the URI of the curated dataset whose plan is made, or "".
func (c *rolloutSettings) plan(ctx context.Context) (string, error) {
	switch {
	case c.PlanURI != planPrevious:
		return c.PlanURI, nil
	case c.Epoch == nil:
		return "", cli.Usagef("", "--plan previous without --epoch")
	case *c.Epoch == 0 || c.Validation:
		return "", nil
	}
	return c.Curated(ctx, *c.Epoch-1)
}

func runRollout(ctx context.Context, s *cli.Session, c *rolloutSettings) error {
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	if o.Out, err = c.Target.Open(s, c.defaultOut(o.AtEpoch())); err != nil {
		return err
	}
	c.Place(s, new(o.AtEpoch()), c.Validation)
	o.Env = s.Env()
	defer settings.CollectEvenly(64 << 20)()
	r, err := rollout.Run(ctx, o)
	return settings.FinishStage(s, r, r, err)
}

// defaultOut returns the URI of an epoch's rollouts, or of its validation's.
func (c *rolloutSettings) defaultOut(epoch int) string {
	if c.ExtendURI != "" {
		dir, _ := storage.Split(c.ExtendURI)
		return storage.Join(dir, "extended", "rollout") // so that the outputs of the later stages are next to it
	}
	if c.Validation {
		return c.Layout().Validation(epoch, "rollout")
	}
	return c.Layout().Stage(epoch, "rollout")
}
