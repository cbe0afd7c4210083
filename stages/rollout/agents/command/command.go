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
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/process"
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
		a.pool = newPool(c.Program(c.Words...))
	}
	return a, nil
}

func (a *agent) Describe() agents.Description {
	params := map[string]any{"words": a.config.Words}
	if len(a.config.Env) > 0 {
		params["env"] = agents.EnvParams(a.config.Env)
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

// pool starts workers as they are needed, one for each attempt at once, and keeps them.
type pool struct {
	program process.Program

	mu   sync.Mutex
	idle []*agents.Worker
}

func newPool(p process.Program) *pool {
	// clients require one at start
	p.Env = append(p.Env, "OPENAI_API_KEY=rollmill", "ANTHROPIC_API_KEY=rollmill")
	return &pool{program: p}
}

func (p *pool) ask(ctx context.Context, at agents.Attempt, log io.Writer) ([]byte, error) {
	line, err := at.TaskAt().Line()
	if err != nil {
		return nil, err
	}
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	out, err := w.Ask(ctx, at.TrajectoryID, line, log)
	if err != nil {
		return nil, err // Ask ended the worker
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	return out, nil
}

// take returns an idle worker that is alive, or a new one.
func (p *pool) take() (*agents.Worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !w.Ended() {
			return w, nil
		}
	}
	return agents.StartWorker(p.program)
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var wait sync.WaitGroup
	for _, w := range idle {
		wait.Go(w.Stop)
	}
	wait.Wait()
}

// keys are those of a agents.Output.
var keys = []string{"trajectory_id", "answer", "reward", "rewards", "metadata", "stop", "error", "traceback"}

// begun matches the beginning of a result, also of one that is broken.
var begun = regexp.MustCompile(`^\{\s*"(?i:` + strings.Join(keys, "|") + `)"`)

// resultIn returns the part of a program's output that agents.ReadResult reads:
// all of it, or what begins at the last line that begins with "{", if that is
// a result and other text comes before it.
func resultIn(out []byte) []byte {
	out = bytes.TrimSpace(out)
	last := out[bytes.LastIndex(out, []byte("\n{"))+1:]
	if !valid(out) && isResult(last) {
		return last
	}
	return out
}

func valid(text []byte) bool {
	clean, _ := jsontext.Mend(text)
	return json.Valid(clean)
}

// isResult reports whether a text is an object with the key of a result, in
// whatever letters, or begins like one: then ReadResult says what is wrong.
func isResult(text []byte) bool {
	if begun.Match(text) || !valid(text) {
		return begun.Match(text)
	}
	for key := range jsontext.Members(text) {
		if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, string(key)) }) {
			return true
		}
	}
	return false
}
