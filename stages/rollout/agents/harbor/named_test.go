package harbor

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestNames: a name is in the identity as the command that it stands for, and sh reads
// that. Without the program, the command ends as sh ends then.
func TestNames(t *testing.T) {
	for name, program := range map[string]string{"claude-code": "claude", "codex": "codex", "opencode": "opencode"} {
		a := made(t, func(s *Settings) { s.Harness, s.Runtime = name, "command: true" })
		text, _ := a.Describe().Params["harness"].(string)
		if !strings.Contains(text, `"$INSTRUCTION" | `+program+" ") {
			t.Errorf("%s stands for %q", name, text)
		}
		sh := exec.Command("/bin/sh", "-c", text)
		sh.Env = []string{"PATH=", "INSTRUCTION=Work."}
		if out, err := sh.CombinedOutput(); sh.ProcessState.ExitCode() != missing || !strings.Contains(string(out), program+":") {
			t.Errorf("%s without the program: %v %s", name, err, out)
		}
	}
	for _, same := range []string{Shell, "claude", "true", "codex exec"} {
		a := made(t, func(s *Settings) { s.Harness, s.Runtime = same, "command: true" })
		if got := a.Describe().Params["harness"]; got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
}

// TestMissingHarness: the failure says what to do.
func TestMissingHarness(t *testing.T) {
	manyContainers(t)
	for name, want := range map[string]string{"claude-code": "claude", "codex": "codex", "opencode": "opencode", "true; no-such-program": "no-such-program"} {
		_, _, err := attempt(t, made(t, in(name)), root("tasks", "write-file"), nil)
		if class(err) != outcomes.FailAgentExit || !strings.Contains(err.Error(), "does --harness-setup install it?") || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%s: class %s: %v", name, class(err), err)
		}
	}
	setup := filepath.Join(t.TempDir(), "setup.sh")
	if err := os.WriteFile(setup, []byte("no-such-program"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := made(t, func(s *Settings) { s.Setup, s.Harness = setup, "true" })
	if _, _, err := attempt(t, a, root("tasks", "write-file"), nil); err == nil || strings.Contains(err.Error(), "--harness-setup install") {
		t.Errorf("a setup without its program: %v", err)
	}
}

// asked is an instruction that a shell, a parser of flags or one of commands might change.
const asked = "/app must have hello.txt with the word \"hello\":\n- no $HOME, `id` or 'quotes' \\n\n--help"

// TestNamedHarnesses runs Claude Code, Codex and OpenCode as they are, in containers
// without a network, as root and as another user.
func TestNamedHarnesses(t *testing.T) {
	const image = "localhost/rollmill-test:harnesses"
	manyContainers(t)
	if out, err := exec.Command("podman", "image", "inspect", image).CombinedOutput(); err != nil {
		t.Skipf(".ci/install containers harnesses and .ci/harness-image make their image: %v %s", err, out)
	}
	for _, c := range []struct{ name, tool, arguments string }{
		{"claude-code", "Bash", `{"command":"echo hello > /app/hello.txt","description":"Write it"}`},
		{"codex", "exec_command", `{"cmd":"echo hello > /app/hello.txt"}`},
		{"opencode", "bash", `{"command":"echo hello > /app/hello.txt","workdir":"/tmp","description":"Write it"}`},
	} {
		for _, user := range []string{"root", "worker"} {
			t.Run(c.name+"/"+user, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "task")
				if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string]string{
					"environment/Dockerfile": "FROM " + image + "\nWORKDIR /app\nRUN chown worker /app\n",
					"instruction.md":         asked,
					"task.toml": fmt.Sprintf("[environment]\nmemory_mb = 4096\nnetwork_mode = \"no-network\"\n[agent]\n"+
						"timeout_sec = 180.0\nuser = %q\n", user),
				} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				logs, began := t.TempDir(), time.Now()
				a := made(t, func(s *Settings) { s.Harness, s.Logs = c.name, logs })
				result, rec, err := attempt(t, a, dir, uses(formats.ToolCall{ID: "call_1", Name: c.tool, Arguments: c.arguments}))
				if err != nil || result.Reward == nil || *result.Reward != 1 {
					t.Fatalf("%v: %+v %v", err, result, output(t, logs))
				}
				t.Logf("%s", time.Since(began).Round(time.Second/10))
				if len(rec.Calls) != 2 || rec.Untrainable != nil || rec.TokenSource != schema.TokensChoice {
					t.Errorf("%d calls, unfit %v, token ids from %q", len(rec.Calls), rec.Untrainable, rec.TokenSource)
				}
				for i, m := range rec.Messages {
					if m.Role == "assistant" && (len(m.TokenIDs) == 0 || len(m.Logprobs) != len(m.TokenIDs)) || m.Branch != "" || m.PrefixBreak != "" {
						t.Errorf("message %d: %d token ids, %d logprobs, branch %q, break %q", i, len(m.TokenIDs), len(m.Logprobs), m.Branch, m.PrefixBreak)
					}
				}
			})
		}
	}
}

// uses is a model that calls a tool when it is asked for what it is to do, and says so
// when the tool's result is there.
func uses(call formats.ToolCall) func(recordertest.Request) recordertest.Reply {
	return func(q recordertest.Request) recordertest.Reply {
		var tools []struct{ Function struct{ Name string } }
		json.Unmarshal(q.Fields["tools"], &tools)
		has := func(test func(formats.Message) bool) bool { return slices.ContainsFunc(q.Messages, test) }
		for _, t := range tools {
			if t.Function.Name == call.Name && has(func(m formats.Message) bool { return m.Role == "user" && strings.Contains(m.Content, asked) }) &&
				!has(func(m formats.Message) bool { return m.Role == "tool" }) {
				return recordertest.Reply{ToolCalls: []formats.ToolCall{call}}
			}
		}
		return recordertest.Reply{Content: "It is written."}
	}
}

// output returns the output of an attempt's programs.
func output(t *testing.T, logs string) (text string) {
	t.Helper()
	files, err := os.ReadDir(logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(logs, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	return text
}
