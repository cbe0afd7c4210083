// Package verifiers is the agent that makes attempts in environments of the Python
// package verifiers: its tasks are the examples (--examples verifiers:NAME), its harness
// asks the model at the recorder, and its rewards and metrics are components.
//
// The environment runs in one process, `python -m rollmill.verifiers serve NAME`, which
// makes all attempts at once; see the Python module. Its Python needs the package
// rollmill, verifiers and the environment's own package. An attempt that the engine ended
// with an error, or of which a reward function raised one, fails: verifiers would give
// it the reward 0.
package verifiers

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	service "github.com/rollmill/rollmill/stages/rollout/agents/http"
)

var Kind = plugin.Kind[agents.Settings]{
	Name: "verifiers",
	Help: "attempt the tasks of an environment of the Python package verifiers: --examples verifiers:NAME --agent verifiers",
	New:  func() agents.Settings { return &Settings{Python: "python3"} },
}

// startTime is how long an environment may take to load; its data may come from a hub.
const startTime = 10 * time.Minute

type Settings struct {
	agents.ProgramSettings
	Args   map[string]any // of the environment
	Python string
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.Func(func() any { return s.Args }, s.setArgs, "env-args", "load the environment with the arguments in this `JSON` object: "+
		"keywords of load_environment, or of verifiers.v1 its config, such as {\"taskset\": {\"num_tasks\": 9}}")
	d.Include(&s.ProgramSettings)
	d.Heading(plugin.Execution)
	d.String(&s.Python, "python", "run the environment with this `PROGRAM`, whose packages include it")
}

func (s *Settings) setArgs(text string) error {
	if err := json.Unmarshal([]byte(text), &s.Args); err != nil || s.Args == nil {
		return plugin.Badf(`write it as {"name": value}`, "%q is not a JSON object", text)
	}
	return nil
}

type agent struct {
	config  Settings
	mu      sync.Mutex
	servers map[string]*server // by environment
}

// server is the process of an environment.
type server struct {
	process *process.Process
	stdin   io.Closer
	url     string
	asks    agents.Agent
}

// Agent makes the agent; the environment is loaded by the first attempt.
func (s *Settings) Agent(ctx context.Context, set agents.Setup) (_ agents.Agent, err error) {
	a := &agent{config: *s, servers: map[string]*server{}}
	a.config.Env, err = s.Environ(ctx, set)
	return a, err
}

// Describe is part of agents.Agent. The environment and the version of verifiers are
// in the examples.
func (a *agent) Describe() agents.Description {
	params := map[string]any{}
	if len(a.config.Args) > 0 {
		params["env_args"] = a.config.Args
	}
	if len(a.config.Env) > 0 {
		params["env"] = stages.EnvParams(a.config.Env)
	}
	return agents.Description{Kind: "verifiers", Params: params, OpenFiles: 3} // as agent http
}

// List writes an environment's tasks as JSON lines: NAME, or NAME:COUNT for the first.
func (a *agent) List(ctx context.Context, name string, to io.Writer, _ func(string)) error {
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	name, count, _ := strings.Cut(name, ":")
	s, err := a.server(ctx, name)
	if err != nil {
		return agents.Usage("does --python have the packages rollmill, verifiers and the environment's own?", "%w", err)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+url.PathEscape(count), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return fmt.Errorf("environment %s: %w", name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
		return agents.Usage("", "environment %s: %s", name, text)
	}
	_, err = io.Copy(to, answer.Body)
	return err
}

func (a *agent) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	var fields struct{ Environment string }
	if json.Unmarshal(at.Example.Fields, &fields) != nil || fields.Environment == "" {
		return agents.Result{}, agents.Failf(outcomes.FailExample,
			"example %q is no task of verifiers: name them with --examples verifiers:NAME", at.Example.ID)
	}
	s, err := a.server(ctx, fields.Environment)
	if err != nil {
		return agents.Result{}, err
	}
	return s.asks.Attempt(ctx, at)
}

// server returns the environment's process, and starts it when there is none.
func (a *agent) server(ctx context.Context, name string) (*server, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.servers[name]; s != nil {
		select {
		case <-s.process.Done():
		default:
			return s, nil
		}
	}
	s, err := a.start(ctx, name)
	if err != nil {
		return nil, err
	}
	a.servers[name] = s
	return s, nil
}

func (a *agent) start(ctx context.Context, name string) (*server, error) {
	words := []string{a.config.Python, "-m", "rollmill.verifiers", "serve", name}
	if len(a.config.Args) > 0 {
		args, _ := json.Marshal(a.config.Args) // it was read from JSON
		words = append(words, "--args", string(args))
	}
	program := a.config.Program(words...)
	tail := process.NewTail(ctx, 16<<10)
	program.Stderr = tail
	p, stdin, stdout, err := program.StartPiped(context.WithoutCancel(ctx), 0)
	if err != nil {
		return nil, agents.Failf(outcomes.FailAgentExit, "starting %s: %w", program.Words[0], err)
	}
	defer stdout.Close() // it says no more
	var first struct{ URL string }
	stop := context.AfterFunc(ctx, func() { stdout.SetReadDeadline(time.Now()) })
	defer stop()
	stdout.SetReadDeadline(time.Now().Add(startTime))
	line, err := bufio.NewReader(io.LimitReader(stdout, 1<<16)).ReadBytes('\n')
	if err = cmp.Or(err, json.Unmarshal(line, &first)); err != nil {
		stdin.Close()
		p.Stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, agents.Failf(outcomes.FailAgentExit, "environment %s did not start: %s", name, tail)
	}
	asks, err := (&service.Settings{ServiceSettings: agents.ServiceSettings{Arguments: agents.Arguments{Words: []string{first.URL}}}}).
		Agent(ctx, agents.Setup{})
	return &server{p, stdin, first.URL, asks}, err
}

func (a *agent) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, s := range a.servers {
		errs = append(errs, s.stdin.Close(), s.asks.Close())
		s.process.Stop()
	}
	clear(a.servers)
	return errors.Join(errs...)
}
