// Package command is the agent that runs a program for each trajectory, in any
// language, with its model calls going through the recording proxy. It is not
// a sandbox: the program runs with the rights of this process.
//
// The guide "protocol-agent" has the task, the result and the variables; agents.Task,
// agents.Output and Attempt.Environ are these in Go. A program is started for each
// trajectory, or, with --agent-workers, that many times: a worker has one task at a time,
// and a line without the task's "trajectory_id" is never used for another task. One that
// ends, or is ended together with its trajectory, is replaced (testdata/agents/worker.py
// is a whole one). All of standard error is kept where --agent-logs says.
package command

import (
	"bytes"
	"context"
	"os"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "command",
	Help: "run a process for each trajectory and record its OpenAI calls: --agent 'command: PROGRAM ARGUMENTS…'",
	New:  func() agents.Settings { return &Settings{} },
}

type Settings struct {
	agents.Arguments // the program
	agents.ProgramSettings
	Command []string // the program as well, when there are no arguments
	Workers int      // long-running processes that read tasks as lines; 0 for one process per trajectory
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Words(&s.Command, "command", "run this program, `WORDS` split as a shell would, if --agent has no words")
	d.Include(&s.ProgramSettings)
	d.Heading(plugin.Execution)
	d.Int(&s.Workers, "agent-workers",
		"start the program `N` times and give it trajectories as JSON lines; 0 starts it for each").Min(0)
}

type agent struct {
	config Settings
	files  map[string]string
	pool   *pool // nil for a process each
}

// Agent finds the program and digests it and every file its words name.
func (s *Settings) Agent(ctx context.Context, set agents.Setup) (_ agents.Agent, err error) {
	c := *s
	if len(c.Words) > 0 && len(c.Command) > 0 {
		return nil, agents.Usage("say it once", "--agent 'command: %s' and --command %q both name a program",
			shellquote.Join(c.Words...), shellquote.Join(c.Command...))
	}
	if len(c.Words) == 0 {
		c.Words = c.Command
	}
	if len(c.Words) == 0 {
		return nil, agents.Usage("--agent 'command: ./agent.py --fast'", "agent command needs a program")
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, agents.Usage("", "the program's folder %q does not exist", c.Dir)
		}
	}
	if c.Env, err = c.Environ(ctx, set); err != nil {
		return nil, err
	}
	files, err := stages.DigestWords(ctx, c.Dir, c.Words)
	if err != nil {
		return nil, agents.Usage("is it built, executable and on the PATH?", "%w", err)
	}
	a := &agent{config: c, files: files}
	if c.Workers > 0 {
		a.pool = newPool(c.Program(c.Words...))
	}
	return a, nil
}

func (a *agent) Describe() agents.Description {
	params := map[string]any{"words": a.config.Words}
	if len(a.config.Env) > 0 {
		params["env"] = stages.EnvParams(a.config.Env)
	}
	if a.pool != nil {
		params["protocol"] = "lines"
	}
	return agents.Description{Kind: "command", Params: params, Files: a.files, Limit: a.config.Workers}
}

func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	log, err := agents.OpenLog(ctx, a.config.Logs, at.TrajectoryID)
	if err != nil {
		return agents.Result{}, err
	}
	defer log.Close()
	remove, err := at.WorkIn()
	if err != nil {
		return agents.Result{}, err
	}
	defer remove()
	var out []byte
	if a.pool != nil {
		out, err = a.pool.ask(ctx, at, log)
	} else {
		p := a.config.Program(a.config.Words...)
		var line []byte
		if line, err = at.Task().Line(); err != nil {
			return agents.Result{}, err
		}
		p.Stdin, p.Env, p.Stderr = bytes.NewReader(line), append(p.Env, at.Environ()...), log
		out, err = agents.Run(ctx, p)
		out = resultIn(out)
	}
	if err != nil {
		return agents.Result{}, err
	}
	return agents.ReadResult(out)
}

func (a *agent) Close() error {
	if a.pool != nil {
		a.pool.close()
	}
	return nil
}
