// Package command is the agent that runs a program for each trajectory, in any
// language, with its model calls going through the recording proxy. It is not
// a sandbox: the program runs with the rights of this process.
//
// The program gets one JSON line on its standard input,
//
//	{"id","question","answer","fields":{…},"generation","epoch","trajectory_id","seed","work"}
//
// and in its environment OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_API_KEY,
// OPENAI_MODEL, ANTHROPIC_BASE_URL (the same address without /v1, which
// Anthropic's clients add), ANTHROPIC_API_KEY, ANTHROPIC_MODEL,
// ROLLMILL_TRAJECTORY_ID, ROLLMILL_EXAMPLE_ID, ROLLMILL_GENERATION,
// ROLLMILL_EPOCH, ROLLMILL_WORK and, with a sampling seed, ROLLMILL_SEED. Work is an
// empty folder for the attempt's files, which is removed at its end. After a crash it has the
// same path: a program that puts it into a prompt gets the answers that it had (rollout
// --resume). The clients of OpenAI
// and of Anthropic find the proxy by these. A program of several functions may
// name the calling function, for --target-function, by ending the base URL in
// /f/FUNCTION/v1 instead of /v1 or by the header X-Rollmill-Function. It may
// print one JSON object,
//
//	{"answer":"…","reward":1,"metadata":{…},"stop":"done"}
//
// each field optional. The answer is text; without it the answer is what the
// model wrote last. The reward is a number, stored as the component "agent" (see
// reward stored). Stop is "done" or "turns" (it ran out of turns). Other text may
// come before the object, which then begins a line and ends the output. An object
// that begins with one of these keys and is broken, or that text follows, fails the
// trajectory (class agent_output), and so does other output that begins with "{" and
// is not one object. Text without such an object is ignored. Print no text of the
// model last: it could be taken for a result. An exit code other than 0 fails the
// trajectory, with the end of standard error in its error. All of standard error is
// kept where --agent-logs says.
//
// With --agent-workers the program is started that many times and keeps
// running: each line on its standard input is a task as above plus "base_url",
// "api_key" and "model", and it answers each with one line, the object above or
// {"error":"…"}, in which "trajectory_id" is the task's. A line that begins
// with "{" without this id is not an answer: it fails the trajectory (class
// agent_output) and ends the worker, so that no answer is ever used for another
// task. Other lines are ignored, and so is output between two tasks; logs
// belong on standard error. A worker has one task at a time. One that ends, or
// is ended together with its trajectory, is replaced. This is a whole worker in
// Python (testdata/agents/worker.py):
//
//	import json, sys
//	from openai import OpenAI
//	for line in sys.stdin:
//	    task = json.loads(line)
//	    model = OpenAI(base_url=task["base_url"], api_key=task["api_key"])
//	    model.chat.completions.create(model=task["model"], messages=[{"role": "user", "content": task["question"]}])
//	    print(json.dumps({"trajectory_id": task["trajectory_id"], "metadata": {}}), flush=True)
package command

import (
	"context"
	"os"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// Kind is the agent's entry in agents.
var Kind = plugin.Kind[agents.Settings]{
	Name: "command",
	Help: "run a process for each trajectory and record its OpenAI calls: --agent 'command: PROGRAM ARGUMENTS…'",
	New:  func() agents.Settings { return &Settings{} },
}

// Settings are the agent's settings.
type Settings struct {
	agents.Arguments // the program
	agents.ProgramSettings
	Command []string // the program as well, when there are no arguments
	Workers int      // long-running processes that read tasks as lines; 0 for one process per trajectory
}

// Declare declares the settings.
func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Words(&s.Command, "command", "run this program, `WORDS` split as a shell would, if --agent has no words")
	d.Include(&s.ProgramSettings)
	d.Heading(plugin.Execution)
	d.Int(&s.Workers, "agent-workers",
		"start the program `N` times and give it trajectories as JSON lines; 0 starts it for each")
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
	if c.Workers < 0 {
		return nil, agents.Usage("0 starts a process for each trajectory", "%d workers", c.Workers)
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
		a.pool = newPool(c.Workers, a.program())
	}
	return a, nil
}

func (a *agent) program() agents.Program {
	return agents.Program{Words: a.config.Words, Dir: a.config.Dir, Env: a.config.Env, Grace: a.config.Grace}
}

// Describe is part of agents.Agent.
func (a *agent) Describe() agents.Description {
	params := map[string]any{"words": a.config.Words}
	if len(a.config.Env) > 0 {
		params["env"] = agents.EnvParams(a.config.Env)
	}
	if a.pool != nil {
		params["protocol"] = "lines"
	}
	return agents.Description{Kind: "command", Params: params, Files: a.files}
}

// Attempt is part of agents.Agent.
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
		p := a.program()
		if p.Stdin, err = at.Task().Line(); err != nil {
			return agents.Result{}, err
		}
		p.Env, p.Stderr = append(p.Env[:len(p.Env):len(p.Env)], at.Environ()...), log
		out, err = p.Run(ctx)
		out = resultIn(out)
	}
	if err != nil {
		return agents.Result{}, err
	}
	return agents.ReadResult(out)
}

// Limit is part of agents.Limited.
func (a *agent) Limit() int { return a.config.Workers }

// Close is part of agents.Closer.
func (a *agent) Close() error {
	if a.pool != nil {
		a.pool.close()
	}
	return nil
}
