package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/rollout"
)

// definitions is the request's list "tools"; nil without any.
func definitions(tools []rollout.Tool) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range tools {
		if t.Definition == nil {
			t.Definition, _ = json.Marshal(map[string]any{"type": "function", "function": map[string]any{
				"name": t.Name, "parameters": map[string]any{"type": "object", "additionalProperties": true}}})
		}
		out = append(out, t.Definition)
	}
	return out
}

// checkTools finds what is wrong with tools and digests their programs.
func checkTools(c rollout.AgentConfig) (files map[string]string, err error) {
	var seen []string
	for _, t := range c.Tools {
		switch {
		case t.Name == "" || slices.Contains(seen, t.Name):
			return nil, usage("--tool 'NAME=PROGRAM'", "tool %q has no name, or another's", t.Name)
		case len(t.Words) == 0 && !slices.Contains(c.StopTools, t.Name):
			return nil, usage("--tool 'NAME=PROGRAM', or --stop-tool NAME when its call only ends the conversation", "tool %q has no program", t.Name)
		}
		seen = append(seen, t.Name)
		if len(t.Words) == 0 {
			continue
		}
		digests, err := rollout.DigestWords(c.Dir, t.Words)
		if err != nil {
			return nil, usage("is it built, executable and on the PATH?", "tool %q: %w", t.Name, err)
		}
		for name, digest := range digests {
			if files == nil {
				files = map[string]string{}
			}
			files[name] = digest
		}
	}
	for _, name := range c.StopTools {
		if !slices.Contains(seen, name) {
			return nil, usage("a tool that ends the conversation needs a definition, too", "--stop-tool %q is not among the tools", name)
		}
	}
	return files, nil
}

// answerTools runs a reply's tool calls, all at once, and returns their
// messages in order.
func (a *agent) answerTools(ctx context.Context, at rollout.Attempt, calls []formats.ToolCall, log io.Writer) ([]formats.Message, error) {
	out := make([]formats.Message, len(calls))
	errs := make([]error, len(calls))
	log = &locked{w: log}
	var wait sync.WaitGroup
	for i, call := range calls {
		wait.Go(func() {
			var text string
			text, errs[i] = a.answerTool(ctx, at, call, log)
			out[i] = formats.Message{Role: "tool", ToolCallID: call.ID, Content: text}
		})
	}
	wait.Wait()
	return out, errors.Join(errs...)
}

// answerTool runs one program. What the model did wrong, and what a program
// complains of, is said to the model; the trajectory goes on.
func (a *agent) answerTool(ctx context.Context, at rollout.Attempt, call formats.ToolCall, log io.Writer) (string, error) {
	i := slices.IndexFunc(a.config.Tools, func(t rollout.Tool) bool { return t.Name == call.Name })
	if i < 0 || len(a.config.Tools[i].Words) == 0 {
		return fmt.Sprintf("error: there is no tool %q", call.Name), nil
	}
	arguments := call.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if !json.Valid([]byte(arguments)) {
		return "error: the arguments are not JSON", nil
	}
	p := rollout.Program{Words: a.config.Tools[i].Words, Dir: a.config.Dir, Grace: a.config.Grace, Stdin: []byte(arguments + "\n"), Stderr: log}
	p.Env = append(append(slices.Clone(a.config.Env), at.Environ()...), "ROLLMILL_TOOL="+call.Name)
	result, err := p.Run(ctx)
	var failure *rollout.Failure
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &failure):
		return "error: " + strings.ToValidUTF8(err.Error(), "\uFFFD"), nil
	}
	return strings.ToValidUTF8(strings.TrimSuffix(string(result), "\n"), "\uFFFD"), err
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
