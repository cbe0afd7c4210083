package harbor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/chat"
)

const (
	missing = 127 // exit code of a shell that does not find a program
	killed  = 137 // of a program that SIGKILL ended, as the kernel does at a limit of memory
)

func (b *box) work(ctx context.Context, at agents.Attempt) (result agents.Result, err error) {
	limited, stop := context.WithTimeoutCause(ctx, containers.Limit(b.Task.Agent.Timeout), containers.ErrPhase)
	defer stop()
	if b.agent.setup != nil {
		words := []string{"sh", "-c", string(b.agent.setup)}
		if err := b.program(limited, "the harness's setup", containers.Exec{Words: words, User: "0"}); err != nil {
			return result, err
		}
		if err = b.Before(limited); err != nil { // what the setup left is not the agent's
			return result, failed(limited, outcomes.FailAgentExit, err)
		}
	}
	if b.agent.config.Harness == Shell {
		result, err = b.shell(limited, at)
	} else {
		err = b.inside(limited, at)
	}
	if err != nil && errors.Is(context.Cause(limited), containers.ErrPhase) {
		return result, agents.Failf(outcomes.FailTimeout, "the agent took longer than the task's %s", b.Task.Agent.Timeout)
	}
	return result, err
}

// inside runs the harness's command in the container, behind the relay.
func (b *box) inside(ctx context.Context, at agents.Attempt) error {
	bridge, err := newBridge(b.Dir+"/run", at)
	if err != nil {
		return err
	}
	defer bridge.Close()
	env, err := b.Variables.Resolve(ctx, b.Task, "agent")
	if err != nil {
		return failed(ctx, outcomes.FailExample, err)
	}
	return b.program(ctx, theHarness, containers.Exec{
		Words: []string{verifier.RelayPath, RelayCommand, socketPath, "sh", "-c", b.instructed()},
		Env:   slices.Concat(env, b.environ(at), b.agent.config.Env, []string{"INSTRUCTION_FILE=" + verifier.InstructionPath}),
		User:  b.Task.Agent.User})
}

// exported is the length of an instruction above which it is no environment variable:
// Linux allows 128 KiB for one.
const exported = 120000

// instructed returns the harness's command after what reads the instruction's file into
// INSTRUCTION. That is a variable of the shell alone if it is long.
func (b *box) instructed() string {
	script := `INSTRUCTION=$(cat "$INSTRUCTION_FILE")` + "\n"
	if len(b.Task.Instruction) <= exported {
		script += "export INSTRUCTION\n"
	}
	return script + b.agent.config.Harness
}

const solutionPath = "/solution"

func (b *box) solution(ctx context.Context) error {
	env, err := b.Variables.Resolve(ctx, b.Task, "solution")
	if err == nil {
		err = b.CopyIn(ctx, b.Name, b.Task.Dir+solutionPath, solutionPath)
	}
	if err != nil {
		return failed(ctx, outcomes.FailExample, fmt.Errorf("the solution: %w", err))
	}
	ctx, stop := context.WithTimeoutCause(ctx, containers.Limit(b.Task.Agent.Timeout), containers.ErrPhase)
	defer stop()
	script := solutionPath + "/solve.sh"
	return b.program(ctx, "the solution", containers.Exec{Words: []string{"sh", "-c", "chmod +x " + script + " && " + script}, Env: env})
}

const theHarness = "the harness"

// program runs a program that must succeed.
func (b *box) program(ctx context.Context, what string, e containers.Exec) error {
	tail := process.NewTail(ctx, containers.Quoted)
	e.Output = io.MultiWriter(tail, b.Log)
	code, err := b.Exec(ctx, 0, e)
	switch {
	case err != nil:
		return failed(ctx, outcomes.FailAgentExit, fmt.Errorf("%s: %w", what, err))
	case code == killed:
		return agents.Failf(outcomes.FailLimit, "%s was killed, as at the limit of memory (%d MB): %s", what,
			b.Task.Environment.MemoryMB, tail)
	case code == missing && what == theHarness:
		return agents.Failf(outcomes.FailAgentExit, "%s: exit code %d: a program is not in the image; does --harness-setup install it? %s", what, code, tail)
	case code != 0:
		return agents.Failf(outcomes.FailAgentExit, "%s: exit code %d: %s", what, code, tail)
	}
	return nil
}

// Shell is the harness that is a loop beside the container.
const Shell = "shell"

const (
	defaultTurns = 50
	shellTime    = 2 * time.Minute // of one command
	shellOutput  = 16 << 10        // bytes of its output that the model reads
	shellSystem  = "You work in a Linux container. Use the tool shell to look, to change files and to run programs. " +
		"Each command runs in a new shell. When the task is done, answer without calling the tool."
)

var shellTool = json.RawMessage(`{"type":"function","function":{"name":"shell","description":"Run a command with sh in the container.",` +
	`"parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}`)

// shell is a conversation in which the model has a shell in the container.
func (b *box) shell(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	env, err := b.Variables.Resolve(ctx, b.Task, "agent")
	if err != nil {
		return agents.Result{}, failed(ctx, outcomes.FailExample, err)
	}
	env = append(env, b.agent.config.Env...)
	return chat.Loop{Client: b.agent.client, Turns: b.agent.config.Turns, Fields: map[string]any{"tools": []json.RawMessage{shellTool}},
		Ends: func(reply formats.Message) bool { return len(reply.ToolCalls) == 0 },
		Answer: func(ctx context.Context, call formats.ToolCall) (string, bool, error) {
			return b.command(ctx, call, env)
		},
		OneByOne: true,
	}.Run(ctx, at, []formats.Message{{Role: "system", Content: shellSystem}, {Role: "user", Content: b.Task.Instruction}})
}

// command runs one command of the model, and says whether it failed. What went wrong is its answer; only the end
// of the attempt and a runtime that fails are errors.
func (b *box) command(ctx context.Context, call formats.ToolCall, env []string) (string, bool, error) {
	var arguments struct{ Command string }
	switch err := json.Unmarshal([]byte(call.Arguments), &arguments); {
	case call.Name != "shell":
		return fmt.Sprintf("error: there is no tool %q", call.Name), true, nil
	case err != nil || arguments.Command == "":
		return `error: the arguments are not {"command": "…"}`, true, nil
	}
	out := &process.Head{Limit: shellOutput}
	limited, stop := context.WithTimeoutCause(ctx, shellTime, errCommand)
	defer stop()
	code, err := b.Exec(limited, 0, containers.Exec{Words: []string{"sh", "-c", arguments.Command}, Env: env, User: b.Task.Agent.User,
		Output: io.MultiWriter(out, b.Log)})
	text := strings.ToValidUTF8(out.String(), "\uFFFD")
	switch {
	case errors.Is(err, errCommand):
		return text + fmt.Sprintf("\nerror: the command took longer than %s", shellTime), true, nil
	case err != nil:
		return "", false, failed(ctx, outcomes.FailAgentExit, fmt.Errorf("the shell: %w", err))
	case out.Total > shellOutput:
		text += "\n(the rest is left out)"
	}
	if code != 0 {
		text += fmt.Sprintf("\nexit code %d", code)
	}
	return text, code != 0, nil
}

var errCommand = errors.New("the command's time limit passed")

// named has the commands of harnesses with a name. Their programs are as the image or
// the setup installs them. Each reads the instruction as it is, asks the attempt's model
// for all that it asks, and may use every tool, since the container is its sandbox.
var named = map[string]string{
	// Without IS_SANDBOX, root may not skip permissions.
	"claude-code": `export IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_SUBAGENT_MODEL="$ANTHROPIC_MODEL"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="$ANTHROPIC_MODEL" ANTHROPIC_DEFAULT_SONNET_MODEL="$ANTHROPIC_MODEL" ANTHROPIC_DEFAULT_OPUS_MODEL="$ANTHROPIC_MODEL"
printf %s "$INSTRUCTION" | claude -p --dangerously-skip-permissions`,
	// Its plugins are a list that it fetches from GitHub.
	"codex": `printf %s "$INSTRUCTION" | codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m "$OPENAI_MODEL" \
-c analytics.enabled=false -c features.plugins=false -c model_provider=rollmill \
-c "model_providers.rollmill={name=\"rollmill\",base_url=\"$OPENAI_BASE_URL\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}" -`,
	// Without a title, it asks the model for one. Arguments are quoted anew.
	"opencode": `export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_CONFIG_CONTENT="{\"autoupdate\":false,\"share\":\"disabled\",\"permission\":\"allow\",
\"model\":\"rollmill/$OPENAI_MODEL\",\"small_model\":\"rollmill/$OPENAI_MODEL\",\"provider\":{\"rollmill\":{\"npm\":\"@ai-sdk/anthropic\",
\"options\":{\"baseURL\":\"$OPENAI_BASE_URL\",\"apiKey\":\"x\"},\"models\":{\"$OPENAI_MODEL\":{}}}}}"
printf %s "$INSTRUCTION" | opencode run --title task`,
}
