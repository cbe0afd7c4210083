package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/pipelines/starter"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var initCommand = cli.Command{
	Name:    "init",
	Heading: settings.BeginHeading,
	Usage:   "write a config, an agent and a reward to begin with",
	About: `Asks three things on a terminal: what the agent is written in, which engine answers
it and which trainer learns from it. Flags answer them; elsewhere it asks nothing
and takes the defaults. It writes rollmill.yaml, examples.jsonl with tasks of
arithmetic, an agent, a reward and a Makefile, whose comments say what to change,
and replaces no file. All of it runs at once: "make try" makes four attempts,
"make" runs an epoch, "make EPOCH=N" all up to N, "make report" and "make view" show
them, "make rescore REWARD=..." scores one again and compares, and "make check"
tests the engine and the programs first. An editor with a YAML language server
completes and checks rollmill.yaml by rollmill.schema.json, which
"rollmill help schema config" prints.

With --from it takes your own examples, says which of their fields are the question
and the answer, and writes a reward that compares with the answer.

  rollmill init first-run
  rollmill init --agent openai-tools --engine http://127.0.0.1:8000/v1 --model my-model
  rollmill init mine --agent langgraph --from tasks.parquet`,
	Args:        "[FOLDER]",
	ArgSettings: []string{"out"},
	Body: cli.With(func() *initSettings {
		return &initSettings{Choices: starter.Choices{Agent: starter.Agents[0], Engine: starter.Sandbox, Model: "my-model"},
			Folder: "."}
	}, runInit),
}

type initSettings struct {
	starter.Choices
	From   string
	Folder string
}

func (c *initSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Execution)
	plugin.Choice(d, &c.Agent, "agent",
		"write an agent of this `KIND`: python; prompt, which needs no code; program, a shell script to replace by a "+
			"program in any language; openai-tools, anthropic or langgraph, which call a tool; service, which answers "+
			"requests; or harbor or verifiers, which attempt tasks of others", starter.Agents...)
	d.String(&c.Engine, "engine",
		"sample from this engine: sandbox, the `URL` of an OpenAI-compatible server, which ends in /v1, or tinker:// and the "+
			"HOST:PORT of a Tinker service; no HOST:PORT means the hosted one")
	d.String(&c.Trainer, "trainer",
		"train with `NAME`: sandbox, art, tinker, or files, which are written for a trainer that runs elsewhere").
		DefaultShown("that of the engine, else files")
	d.String(&c.Model, "model", "request the model `NAME` of the engine").WrittenToRows()
	d.String(&c.From, "from", "take the examples from this `FILE`: JSON, JSON lines, CSV, Parquet or Arrow; or from a folder "+
		"with one, as Hugging Face's datasets writes it; of agent harbor the folder of the tasks, of agent verifiers the "+
		"environment's name").DefaultShown("tasks of arithmetic").WrittenToRows()
	d.Heading(plugin.Output)
	d.String(&c.Folder, "out", "write the files into this `FOLDER`")
}

func runInit(ctx context.Context, s *cli.Session, c *initSettings) error {
	if err := c.ask(s); err != nil {
		return err
	}
	if err := c.readTasks(ctx); err != nil {
		return err
	}
	c.Schema = s.ConfigSchema()
	names, err := c.Write(c.Folder)
	if err != nil {
		return err
	}
	if c.Tasks != nil && c.Kind().Tasks == "" {
		s.Say("init: %s", c.Tasks)
	}
	s.Say("init: wrote %s", strings.Join(names, ", "))
	next := "make try && make && make report"
	if c.Engine != starter.Sandbox {
		next = "make check && " + next
	}
	if folder := filepath.Clean(c.Folder); folder != "." {
		if strings.HasPrefix(folder, "-") { // no flag of cd
			folder = "./" + folder
		}
		next = "cd " + shellquote.Join(folder) + " && " + next
	}
	s.Say("next: %s", next)
	return s.Result(c.Folder, map[string]any{"folder": filepath.Clean(c.Folder), "files": names})
}

// readTasks reads the file of --from. The config names it relative to its own folder.
func (c *initSettings) readTasks(ctx context.Context) error {
	if c.From == "" {
		return nil
	}
	if kind := c.Kind(); kind.Tasks != "" {
		c.Tasks = &starter.Tasks{URI: kind.Tasks + c.From}
		if from, err := inFolder(c.Folder, c.From); kind.Name == "harbor" && err == nil {
			c.Tasks.URI = kind.Tasks + from
		}
		return nil
	}
	uri, err := starter.TaskFile(c.From)
	if err != nil {
		return err
	}
	file, _, err := storage.OpenFile(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) {
		return fault.Invalid(uri, "check --from; a path is relative to where rollmill is run", storage.ErrNotExist,
			"there is no task file")
	}
	if err != nil {
		return err
	}
	defer file.Close() // read only: nothing is lost
	if c.Tasks, err = starter.ReadTasks(uri, file, file.Size()); err != nil {
		return err
	}
	if strings.Contains(uri, "://") {
		return nil
	}
	c.Tasks.URI, err = inFolder(c.Folder, uri)
	return err
}

// inFolder returns a path relative to a folder.
func inFolder(folder, path string) (string, error) {
	from, err := filepath.Abs(folder)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, path)
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
		if c.Engine, err = s.Ask("Which engine answers it: sandbox, a URL that ends in /v1, or tinker://?", c.Engine,
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
