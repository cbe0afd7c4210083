package main

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
)

var curateCommand = cli.Command{
	Name:     "curate",
	Heading:  settings.StagesHeading,
	Usage:    "select the trajectories to train on",
	Required: "--in, or --root and --epoch",
	About: `Drops flat groups, from which nothing can be learned, and applies the chosen
rules; a curriculum starts with the easiest groups and adds more with each epoch.
The table _decisions records for every trajectory that it was kept, or the reason
why it was dropped. The table _plan lists the examples that need more
generations, and why; rollout --plan makes them. The table _examples counts the
attempts at each example by each policy version, in all epochs so far
(--previous). The output is self-contained, and may be empty.

With --plan-mix or --plan-pass-rate the plan is drawn from a task file, for the next
epoch: by the value of a field, and by pass rates.

A --filter reads a group's columns of _groups (group.mean, group.failed,
group.solved_count, group.pass_at_k[3], …) and, of each trajectory, reward,
rewards.NAME, advantage, answer, status, stop_reason, model, metadata.NAME,
messages, calls, policy_version and the counts of tokens (trajectory.reward).

  rollmill curate --in runs/demo/epoch-1/group --previous runs/demo/epoch-0/curate --curriculum`,
	Body: cli.With(newCurateSettings, runCurate),
}

// curateSettings are the settings of curate, with its inputs and output.
type curateSettings struct {
	curate.Options
	In            []string
	AcceptGates   []string
	Previous      string
	tasks         settings.TaskFile // that a plan is drawn from
	EmptyExitCode int
	settings.RunPlace
	settings.Spilling
	settings.Target
	settings.Monitored
}

func newCurateSettings() *curateSettings {
	return &curateSettings{
		Options: curate.Options{
			Rules: plugin.Every(rules.All),
			Recomputer: func(s training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error) {
				return group.Recompute(estimators.All, s)
			},
		},
		Spilling: settings.Spilling{What: "groups whose rows are not adjacent"},
		Target:   settings.Target{Otherwise: "the sibling \"curate\" of the input"},
	}
}

func (c *curateSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.Strings(&c.In, "in", "read groups at this `URI`; - reads the URI from stdin; groups of further URIs, of other epochs, are trained on "+
		"again with them").WrittenToRows().Common()
	settings.DeclareGates(d, &c.AcceptGates)
	d.String(&c.Previous, "previous",
		"continue the curriculum and the pools of the curated dataset at this `URI`, from the previous epoch").Common()
	d.String(&c.tasks.Examples, "plan-examples",
		"draw the plan from the task file at this `URI`, that of rollout's --examples; with --plan-mix or --plan-pass-rate").WrittenToRows()
	d.Include(&c.Options)
	d.Heading(plugin.Checks)
	d.Int(&c.EmptyExitCode, "empty-exit-code",
		"exit with `CODE` when nothing is kept; the empty dataset is still written")
	d.Include(&c.Spilling)
	d.Include(&c.RunPlace)
	d.Include(&c.Target)
	d.Include(&c.Monitored)
}

func runCurate(ctx context.Context, s *cli.Session, c *curateSettings) error {
	code := c.EmptyExitCode
	if code < 0 || code > 255 {
		return cli.Usagef("", "--empty-exit-code %d is not in 0 to 255", code)
	}
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	if o.In, o.OtherEpochs, err = c.inputs(s); err != nil {
		return err
	}
	o.Previous = stages.Input{URI: c.Previous, AcceptGates: o.In.AcceptGates}
	if len(c.In) == 0 && c.Previous == "" && *c.Epoch > 0 {
		if o.Previous.URI, err = c.Curated(ctx, *c.Epoch-1); err != nil {
			return err
		}
	}
	if o.Out, err = c.OpenSibling(s, o.In.URI); err != nil {
		return err
	}
	c.Place(s, c.Options.Epoch, false)
	o.Env, o.Spill = s.Env(), c.Limits()
	settings.CollectEarly()
	r, err := curate.Run(ctx, o)
	if err = settings.FinishStage(s, r, r, err); err == nil {
		funnel(s, r.Funnel)
	}
	if err == nil && r.Sealed && r.Rows == 0 && code != 0 {
		return cli.Exit{Code: code, What: "nothing is worth training on"}
	}
	return err
}

// options returns the options, with the task file that a plan is drawn from.
func (c *curateSettings) options(ctx context.Context, s *cli.Session) (curate.Options, error) {
	o := c.Options
	if c.tasks.Examples == "" {
		return o, nil
	}
	c.tasks.Format.Names.ID, c.tasks.Format.NoQuestions = o.PlanTable.IDKey, true
	set, ref, err := c.tasks.Read(ctx, s, nil)
	o.Examples, o.ExamplesRef = set, ref
	return o, err
}

// funnel prints what the rules dropped. With --log-format json only the report has it.
func funnel(s *cli.Session, steps []decision.FunnelStep) {
	var b strings.Builder
	if !s.LogJSON && decision.WriteFunnel(&b, steps) == nil && b.Len() > 0 {
		s.Say("%s", strings.TrimRight(b.String(), "\n"))
	}
}

// inputs returns the groups of this epoch, and those of other epochs.
func (c *curateSettings) inputs(s *cli.Session) (first stages.Input, more []stages.Input, err error) {
	uris := c.In
	if len(uris) == 0 && c.Epoch != nil {
		uris = []string{c.Layout().Input(*c.Epoch, s.Command, false)}
	}
	for _, uri := range uris {
		if uri, err = s.URI("in", uri); err != nil {
			return first, nil, err
		}
		more = append(more, stages.Input{URI: uri, AcceptGates: c.AcceptGates})
	}
	if len(more) == 0 {
		return first, nil, cli.Usagef(settings.NameInput, "no input")
	}
	return more[0], more[1:], nil
}
