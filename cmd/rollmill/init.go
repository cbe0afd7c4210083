package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/pipelines/starter"
	"github.com/rollmill/rollmill/stages/plugin"
)

var initCommand = cli.Command{
	Name:    "init",
	Heading: beginHeading,
	Usage:   "write a config, an agent and a reward to begin with",
	About: `Asks three things on a terminal: what the agent is written in, which engine answers
it and which trainer learns from it. Flags answer them; elsewhere it asks nothing
and takes the defaults. It writes rollmill.yaml, examples.jsonl, an agent, a
reward and a Makefile of four lines, whose comments say what to change, and
replaces no file. With the sandbox they run at once: "make try" makes four
attempts, "make" runs an epoch, "make report" and "make view" show it.

  rollmill init first-run
  rollmill init --agent program --engine http://127.0.0.1:8000/v1 --model my-model --trainer art`,
	Args:        "[FOLDER]",
	ArgSettings: []string{"out"},
	Body:        cli.With(newInitSettings, runInit),
}

type initSettings struct {
	starter.Choices
	Folder string
}

func newInitSettings() *initSettings {
	return &initSettings{Choices: starter.Choices{Agent: starter.Agents[0], Engine: starter.Sandbox, Model: "my-model"},
		Folder: "."}
}

func (c *initSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	plugin.Choice(d, &c.Agent, "agent",
		"write an agent of this `KIND`: python; program, a shell script to replace by a program in any language; or "+
			"prompt, which needs no code", starter.Agents...)
	d.String(&c.Engine, "engine",
		"sample from this engine: sandbox, or the `URL` of an OpenAI-compatible server, which ends in /v1")
	d.String(&c.Trainer, "trainer",
		"train with `NAME`: sandbox, art, or files, which are written for a trainer that runs elsewhere").
		Shown("sandbox with the sandbox, else files")
	d.String(&c.Model, "model", "request the model `NAME` of the engine").Open()
	d.Heading(plugin.Output)
	d.String(&c.Folder, "out", "write the files into this `FOLDER`")
}

func runInit(_ context.Context, s *cli.Session, c *initSettings) error {
	if err := c.ask(s); err != nil {
		return err
	}
	names, err := c.Write(c.Folder)
	if err != nil {
		return err
	}
	s.Say("init: wrote %s", strings.Join(names, ", "))
	next := "make try && make && make report"
	if c.Engine != starter.Sandbox {
		next = "read rollmill.yaml, then make try"
	}
	if folder := filepath.Clean(c.Folder); folder != "." {
		next = "cd " + shellquote.Join(atPath(folder)) + " && " + next
	}
	s.Say("next: %s", next)
	return s.Result(c.Folder, map[string]any{"folder": filepath.Clean(c.Folder), "files": names})
}

// atPath returns a path that no command takes for a flag.
func atPath(folder string) string {
	if strings.HasPrefix(folder, "-") {
		return "./" + folder
	}
	return folder
}

// ask asks what no flag answered.
func (c *initSettings) ask(s *cli.Session) (err error) {
	if !s.Given("agent") {
		if c.Agent, err = s.Ask("What is the agent written in: "+strings.Join(starter.Agents, ", ")+"?", c.Agent,
			oneOf(starter.Agents)); err != nil {
			return err
		}
	}
	if !s.Given("engine") {
		valid := func(text string) error {
			return starter.Choices{Agent: c.Agent, Engine: text, Trainer: starter.TrainersOf(text)[0]}.Validate()
		}
		if c.Engine, err = s.Ask("Which engine answers it: sandbox, or a URL that ends in /v1?", c.Engine,
			valid); err != nil {
			return err
		}
	}
	if s.Given("trainer") {
		return nil
	}
	fit := starter.TrainersOf(c.Engine)
	c.Trainer, err = s.Ask("What trains it: "+strings.Join(fit, ", ")+"?", fit[0], oneOf(fit))
	return err
}

func oneOf(names []string) func(string) error {
	return func(text string) error {
		if slices.Contains(names, text) {
			return nil
		}
		return cli.Usagef("", "%q is not one of %s", text, strings.Join(names, ", "))
	}
}
