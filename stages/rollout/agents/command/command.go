// Package command is the agent that runs a program for each trajectory, in any
// language, with its model calls going through the recording proxy. It is not
// a sandbox: the program runs with the rights of this process.
//
// The program gets one JSON line on its standard input,
//
//	{"id","question","answer","fields":{…},"generation","epoch","trajectory_id","seed"}
//
// and in its environment OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_API_KEY,
// OPENAI_MODEL, ROLLMILL_TRAJECTORY_ID, ROLLMILL_EXAMPLE_ID,
// ROLLMILL_GENERATION, ROLLMILL_EPOCH and, with a sampling seed,
// ROLLMILL_SEED. Whatever OpenAI client it uses finds the proxy by these. It
// may print one JSON object,
//
//	{"metadata":{…},"stop":"done"}
//
// where stop is "done" or "turns" (it ran out of turns). Output that does not
// begin with "{" is ignored. An exit code other than 0 fails the trajectory,
// with the end of standard error in its error.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
)

// Kind is the agent's entry in agents/all.
var Kind = rollout.AgentKind{
	Name:  "command",
	Usage: "command: PROGRAM ARGUMENTS…: a process for each trajectory, whose OpenAI calls are recorded",
	New:   New,
}

const (
	maxOutput    = 1 << 20 // of standard output; more fails the trajectory
	keptErrors   = 4 << 10 // of standard error, its end
	defaultGrace = 2 * time.Second
)

type agent struct {
	config rollout.AgentConfig
	files  map[string]string
}

// New finds the program and digests it and every file its words name.
func New(c rollout.AgentConfig) (rollout.Agent, error) {
	if len(c.Words) == 0 {
		return nil, usage("--agent 'command: ./agent.py --fast'", "agent command needs a program")
	}
	if c.System != "" || c.User != "" {
		return nil, usage("a program makes its own messages", "--system and --user are for agent chat")
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, usage("", "the program's folder %q is not there", c.Dir)
		}
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	files, err := rollout.DigestWords(c.Dir, c.Words)
	if err != nil {
		return nil, usage("is it built, executable and on the PATH?", "%w", err)
	}
	return &agent{c, files}, nil
}

// Describe is part of rollout.Agent.
func (a *agent) Describe() rollout.Description {
	params := map[string]any{"words": a.config.Words}
	if len(a.config.Env) > 0 {
		params["env"] = a.config.Env
	}
	return rollout.Description{Kind: "command", Params: params, Files: a.files}
}

// Attempt is part of rollout.Agent.
func (a *agent) Attempt(ctx context.Context, at rollout.Attempt) (rollout.Result, error) {
	input, err := stdin(at)
	if err != nil {
		return rollout.Result{}, &rollout.Failure{Class: formats.FailExample, Err: err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &limited{most: maxOutput, over: func() { cancel(errFlood) }}
	errs := &tail{most: keptErrors}
	cmd := exec.CommandContext(ctx, a.config.Words[0], a.config.Words[1:]...)
	cmd.Dir, cmd.Env = a.config.Dir, a.environment(at)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, errs
	cmd.WaitDelay = a.config.Grace
	ownGroup(cmd)
	err = cmd.Run()
	killGroup(cmd)
	switch {
	case ctx.Err() != nil && context.Cause(ctx) == errFlood:
		return rollout.Result{}, &rollout.Failure{Class: formats.FailAgentOutput, Err: errFlood}
	case ctx.Err() != nil && (err != nil || cmd.ProcessState == nil):
		return rollout.Result{}, context.Cause(ctx)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // a child that outlived the program held its output open
		return rollout.Result{}, &rollout.Failure{Class: formats.FailAgentExit, Err: exitError(a.config.Words[0], err, errs)}
	}
	return result(out.b.Bytes())
}

var errFlood = fmt.Errorf("the program wrote more than %d bytes to its standard output", maxOutput)

func exitError(name string, err error, errs *tail) error {
	if text := strings.TrimSpace(errs.String()); text != "" {
		return fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func stdin(at rollout.Attempt) ([]byte, error) {
	line, err := json.Marshal(struct {
		ID           string          `json:"id"`
		Question     string          `json:"question"`
		Answer       string          `json:"answer"`
		Fields       json.RawMessage `json:"fields"`
		Generation   int             `json:"generation"`
		Epoch        int             `json:"epoch"`
		TrajectoryID string          `json:"trajectory_id"`
		Seed         *int64          `json:"seed"`
	}{at.Example.ID, at.Example.Question, at.Example.Answer, at.Example.Fields, at.Generation, at.Epoch, at.TrajectoryID, at.Seed})
	if err != nil {
		return nil, fmt.Errorf("example %q: its fields are not JSON: %w", at.Example.ID, err)
	}
	return append(line, '\n'), nil
}

func (a *agent) environment(at rollout.Attempt) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ROLLMILL_API_KEY=") }) // the engine's, not the agent's
	env = append(env, a.config.Env...)
	env = append(env,
		"OPENAI_BASE_URL="+at.BaseURL, "OPENAI_API_BASE="+at.BaseURL, "OPENAI_API_KEY="+at.APIKey, "OPENAI_MODEL="+at.Model,
		"ROLLMILL_TRAJECTORY_ID="+at.TrajectoryID, "ROLLMILL_EXAMPLE_ID="+at.Example.ID,
		fmt.Sprintf("ROLLMILL_GENERATION=%d", at.Generation), fmt.Sprintf("ROLLMILL_EPOCH=%d", at.Epoch))
	if at.Seed != nil {
		env = append(env, fmt.Sprintf("ROLLMILL_SEED=%d", *at.Seed))
	}
	return env
}

// result reads what the program printed.
func result(out []byte) (rollout.Result, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 || out[0] != '{' {
		return rollout.Result{}, nil
	}
	var said struct {
		Metadata json.RawMessage `json:"metadata"`
		Stop     string          `json:"stop"`
	}
	bad := func(err error) (rollout.Result, error) {
		return rollout.Result{}, &rollout.Failure{Class: formats.FailAgentOutput, Err: fmt.Errorf("the program's output: %w", err)}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return bad(err)
	}
	if said.Stop != "" && said.Stop != formats.StopDone && said.Stop != formats.StopTurns {
		return bad(fmt.Errorf("stop %q is neither %q nor %q", said.Stop, formats.StopDone, formats.StopTurns))
	}
	if string(said.Metadata) == "null" {
		said.Metadata = nil
	}
	if said.Metadata != nil && said.Metadata[0] != '{' {
		return bad(errors.New("metadata is not an object"))
	}
	return rollout.Result{Stop: said.Stop, Metadata: said.Metadata}, nil
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, "rollout: "+format, args...)
}
