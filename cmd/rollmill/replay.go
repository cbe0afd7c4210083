package main

import (
	"context"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents/builtin"
)

var replayCommand = cli.Command{
	Name:     "replay",
	Heading:  settings.LookHeading,
	Usage:    "run an agent on recorded answers, without an engine",
	Required: "--in, and the agent",
	About: `Starts the agent for each trajectory that did not fail, and reports where it behaves
differently. A request that equals a recorded one gets the recorded answer; the first
request that equals none ends the trajectory. Use it after you change a tool or the
agent's program. The exit code is 3 if something differs. The causes are prompt (a
message of the agent), tool (the result of a tool), tools (the list of tools),
sampling (temperature and other fields), more (it sends a request after the recorded
end) and end (it ends before the recorded end).

  rollmill replay --in runs/demo/epoch-0/rollout --agent 'command: python agent.py'`,
	Body: cli.With(func() *replaySettings {
		return &replaySettings{Source: settings.Source{Does: "replay the trajectories"},
			Options: rollout.Options{Agents: plugin.Pick(builtin.All, "chat")}}
	}, runReplay),
}

type replaySettings struct {
	settings.Source
	rollout.Options
}

func (o *replaySettings) Declare(d *plugin.Declarer) {
	d.Include(&o.Source)
	o.DeclareReplay(d)
}

func runReplay(ctx context.Context, s *cli.Session, o *replaySettings) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	if err := o.MakeAgent(ctx, openai.Client{}, s.Lookup); err != nil {
		return err
	}
	o.Env = s.Env()
	r, err := rollout.Replay(ctx, o.Options, in)
	if err != nil {
		return err
	}
	if err := s.Print(r, r.WriteText); err != nil || len(r.Differ) == 0 {
		return err
	}
	return cli.Exit{Code: cli.ExitGate, What: plural.Of(int64(len(r.Differ)), "trajectory") + " differ"}
}
