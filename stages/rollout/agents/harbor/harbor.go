// Package harbor is the agent that makes attempts at Harbor tasks: it starts the task's
// container, lets a harness work there, copies the tests in afterwards and reads the
// rewards that they leave.
//
// The harness is a program inside the container, or the loop of package chat beside it,
// with a shell in the container as its only tool. A program finds the model in
// OPENAI_BASE_URL and ANTHROPIC_BASE_URL, as agents/command describes, and the task in
// INSTRUCTION. It reaches the recorder of its own attempt by a relay (this program's
// binary, mounted) and a socket, with and without a network.
//
// The number that the verifier names "reward", or its only one, is the reward; all are
// components by their names. A verifier that leaves none, or whose tests the agent
// changed, fails the attempt (class verifier).
//
// Containers carry the label of the process that started them. One that was killed
// leaves them to the next that starts on the machine.
package harbor

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "harbor",
	Help: "attempt Harbor tasks, each in a container of its own: --examples harbor:DIR --agent harbor",
	New:  func() agents.Settings { return &Settings{Harness: Shell, Runtime: "podman"} },
}

type Settings struct {
	agents.ProgramSettings
	Harness string   // Shell, a name of named, or a command for sh in the container
	Setup   string   // file of a shell script that runs in the container before; "" for none
	Turns   int      // of the shell harness; 0 means defaultTurns
	Runtime string   // podman, docker, bwrap, or "command: WORDS"
	TaskEnv []string // what tasks may read: NAME=VALUE, or NAME alone

	KeepProcesses bool // let what the agent leaves running live on
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&s.Harness, "harness", "let this `COMMAND` work in the container; claude-code, codex and opencode stand for the command "+
		"of that program; "+Shell+" is a loop beside the container that gives the model a shell").Common()
	d.String(&s.Setup, "harness-setup", "run the shell script in this `FILE` in the container before the harness, as root")
	d.Int(&s.Turns, "harness-turns", "end the loop of harness shell after `N` answers of the model").Min(0).
		DefaultShown("50")
	d.Strings(&s.Env, "harness-env", "give the harness this `KEY=VALUE`; KEY alone passes it from the environment")
	DeclareTaskEnv(d, &s.TaskEnv)
	DeclareKeepProcesses(d, &s.KeepProcesses)
	d.Heading(plugin.Execution)
	d.String(&s.Runtime, "runtime", "run containers with this `PROGRAM`: podman, docker, bwrap for tasks without an image, or 'command: WORDS' for one that "+
		"takes Podman's commands build, pull, image, run, exec, cp, stop, start, inspect, diff, ps and rm")
	d.String(&s.Logs, "agent-logs", "keep the output of each attempt's programs in this local `FOLDER`")
}

type agent struct {
	verifier.Tasks
	config Settings
	lookup func(string) (string, bool)
	client agents.Client
	files  map[string]string
	setup  []byte
	tasks  sync.Map // harbor.Task by its digest
}

// Agent finds the runtime and removes what dead processes left.
func (s *Settings) Agent(ctx context.Context, set agents.Setup) (_ agents.Agent, err error) {
	a := &agent{config: *s, client: set.Client, lookup: set.Env}
	a.config.Harness, a.config.Turns = cmp.Or(named[s.Harness], s.Harness), cmp.Or(s.Turns, defaultTurns)
	if a.config.Env, err = s.Environ(ctx, set); err != nil {
		return nil, err
	}
	a.Variables, a.Tasks.Keep = verifier.ReadVariables(ctx, s.TaskEnv, set.Env), s.KeepProcesses
	if err := a.readSetup(ctx); err != nil {
		return nil, err
	}
	if a.Relay, err = containers.RelayBinary("use --harness " + Shell + ", or Linux"); err != nil && (s.Harness != Shell || set.KeepWorkspace) {
		return nil, usage(err)
	}
	if a.Machine, err = containers.Open(ctx, s.Runtime); err != nil {
		return nil, usage(err)
	}
	return a, nil
}

// usage says which stage a user's error is about.
func usage(err error) error {
	if known := (*fault.Error)(nil); errors.As(err, &known) && known.Kind == fault.Usage {
		return agents.Usage(known.Help, "%w", err)
	}
	return err
}

const maxSetup = 16 << 20 // bytes

func (a *agent) readSetup(ctx context.Context) (err error) {
	if a.config.Setup == "" {
		return nil
	}
	if a.setup, err = regular.ReadFile(a.config.Setup, maxSetup); err != nil {
		return agents.Usage("", "--harness-setup: %w", err)
	}
	a.files, err = stages.DigestFiles(ctx, []string{a.config.Setup})
	return err
}

func (a *agent) Describe() agents.Description {
	params := map[string]any{"harness": a.config.Harness, "verifier": verifier.Version}
	if a.config.KeepProcesses {
		params["keep_processes"] = true
	}
	if a.config.Harness == Shell {
		params["turns"] = a.config.Turns
	}
	if len(a.config.Env) > 0 {
		params["env"] = stages.EnvParams(a.config.Env)
	}
	if len(a.Variables) > 0 {
		params["task_env"] = a.Variables.Params()
	}
	return agents.Description{Kind: "harbor", Params: params, Files: a.files, Workspaces: true}
}
