package recorder_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// task is what coding agents are told; the engine's tool call does it.
const task = "Write the word made into the file made.txt."

// agent runs a coding agent of .stores/harnesses, or .stores/coder, in an empty folder that is also
// its home, and checks that it has done the task. Every prompt of its main
// conversation begins with the tokens before it, unless the agent is known to
// break that. Then the agent does the task again in the same folder, empty, as one whose
// process died: it gets the answers that it had. At last it is forked at its last call.
func agent(t *testing.T, name string, breaks map[string]string, call formats.ToolCall, command func(protocol, url string) (args, environ []string)) {
	program := root(".stores/harnesses/node_modules/.bin/" + name)
	if _, err := os.Stat(program); err != nil {
		program = root(".stores/coder/node_modules/.bin/" + name)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("no coding agents: run .ci/install harnesses")
	}
	for c := range cells(t) {
		t.Run(c.name, func(t *testing.T) {
			if c.way != "stream" {
				t.Fatal("coding agents stream")
			}
			does(t, program, breaks[c.row.Protocol], call, func(url string) (args, environ []string) { return command(c.row.Protocol, url) })
		})
	}
}

func does(t *testing.T, program, breaks string, call formats.ToolCall, command func(url string) (args, environ []string)) {
	h, dir := harness{call: call, says: "It is made."}, filepath.Join(t.TempDir(), "work")
	do := func(s *recorder.Session) {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		args, environ := command(s.BaseURL())
		environ = append(environ, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_STATE_HOME="+dir)
		out := run(t, dir, s, environ, append([]string{program}, args...)...)
		if text, err := os.ReadFile(filepath.Join(dir, "made.txt")); err != nil || string(text) != "made\n" {
			t.Errorf("made.txt: %q %v\n%s", text, err, out)
		}
	}
	var kept []recorder.Answered
	e, s := h.begin(t, recorder.Resume{Keep: func(a recorder.Answered) { kept = append(kept, a) }})
	do(s)
	rec := exact(t, s, e)
	e, s = h.begin(t, recorder.Resume{Answered: kept})
	do(s)
	if again := s.End(); again.Earlier == 0 || again.Earlier+len(e.Asked()) < len(rec.Calls) {
		t.Errorf("again: %d of %d calls were replayed, %d asked, diverged %q", again.Earlier, len(rec.Calls), len(e.Asked()), again.Diverged)
	} else {
		t.Logf("again: %d of %d calls were replayed, %d asked, diverged %q", again.Earlier, len(rec.Calls), len(e.Asked()), again.Diverged)
	}
	last := rec.Messages[len(rec.Messages)-1]
	k := int32(len(rec.Calls) - 1)
	e, s = h.begin(t, recorder.Resume{Origin: kept, Fork: k})
	do(s)
	fork := s.End()
	if fork.Earlier != int(k) || len(e.Asked()) == 0 || fork.Untrainable != nil || fork.Calls[0].Target || !fork.Calls[len(fork.Calls)-1].Target {
		t.Errorf("forked at call %d: %d were repeated, %d asked, unfit %v", k, fork.Earlier, len(e.Asked()), fork.Untrainable)
	}
	if last.Content != "It is made." || last.PrefixBreak != breaks || rec.Messages[last.Parent].Role != "tool" {
		t.Errorf("it ends with %s", outline(last))
	}
	for i, m := range rec.Messages {
		if m.Branch != "" && m.Branch != tree.BranchSubagent {
			t.Errorf("message %d: %s", i, outline(m))
		}
	}
}

func TestAgentClaudeCode(t *testing.T) {
	agent(t, "claude", nil, formats.ToolCall{ID: "call_1", Name: "Bash", Arguments: `{"command": "echo made > made.txt", "description":"Make it"}`},
		func(string, string) (args, environ []string) {
			return []string{"-p", task, "--model", "policy", "--allowedTools", "Bash"}, []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
		})
}

func TestAgentCodex(t *testing.T) {
	agent(t, "codex", nil, formats.ToolCall{ID: "call_1", Name: "exec_command", Arguments: `{"cmd": "echo made > made.txt"}`},
		func(_, url string) (args, environ []string) {
			provider := fmt.Sprintf(`model_providers.rollmill={name="rollmill",base_url=%q,env_key="OPENAI_API_KEY",wire_api="responses"}`, url)
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=rollmill", "-c", provider,
				"-m", "policy", task}, nil
		})
}

// TestAgentOpenCode: through chat completions it writes arguments anew, and the
// engine gets them as it sampled them.
func TestAgentOpenCode(t *testing.T) {
	packages := map[string]string{"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic"}
	agent(t, "opencode", nil, formats.ToolCall{ID: "call_1", Name: "bash", Arguments: `{"command": "echo made > made.txt", "description":"Make it"}`},
		func(protocol, url string) (args, environ []string) {
			config, _ := json.Marshal(fields{"model": "rollmill/policy", "small_model": "rollmill/policy", "autoupdate": false, "share": "disabled",
				"provider": fields{"rollmill": fields{"npm": packages[protocol], "options": fields{"baseURL": url, "apiKey": "x"},
					"models": fields{"policy": fields{}}}}})
			return []string{"run", task}, []string{"OPENCODE_CONFIG_CONTENT=" + string(config), "OPENCODE_DISABLE_MODELS_FETCH=1"}
		})
}
