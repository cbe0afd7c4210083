package systemtest

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/pipelines/sandbox/sandboxtest"
)

// TestRealAgents runs unchanged agents of common frameworks against the sandbox
// and compares the dataset with the sandbox's own log: every sampled token, with
// its logprob, is in one message of one trajectory, after the prompt for which it
// was sampled.
func TestRealAgents(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, ".venv-agents", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("run .ci/venv agents")
	}
	for _, name := range []string{"langgraph", "llamaindex", "adk"} {
		for _, mode := range []string{"whole", "stream"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				agent := fmt.Sprintf("command: '%s' '%s' %s", python, filepath.Join(root, "testdata", "agents", name+"_agent.py"), mode)
				rows, log := rolloutOfSandbox(t, agent)
				var got []string
				for i := range rows {
					got = append(got, checkRealAgent(t, &rows[i])...)
				}
				var want []string
				for _, s := range log {
					want = append(want, sampleText(s.PromptIDs, s.TokenIDs, s.Logprobs))
					if s.Stream != (mode == "stream") {
						t.Errorf("the agent streams: %v", s.Stream)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("recorded:\n%s\nsampled:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// TestAgentsInOtherLanguages runs the example programs that need no framework:
// one process per trajectory, and one worker for all of them.
func TestAgentsInOtherLanguages(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(root, "testdata", "agents")
	t.Run("a process a trajectory", func(t *testing.T) {
		rows, log := rolloutOfSandbox(t, fmt.Sprintf("command: python3 '%s'", filepath.Join(agents, "plain_agent.py")))
		for _, r := range rows {
			if r.Status != outcomes.StatusOK || len(r.Messages) != 4 || !strings.HasPrefix(r.Metadata, `{"same":`) {
				t.Errorf("%s %s: %d messages, metadata %s", r.Status, r.Error, len(r.Messages), r.Metadata)
			}
		}
		if len(rows) != 2 || len(log) != 4 {
			t.Errorf("%d rows, %d answers", len(rows), len(log))
		}
	})
	t.Run("a worker", func(t *testing.T) {
		python := filepath.Join(root, ".venv-agents", "bin", "python")
		if _, err := os.Stat(python); err != nil {
			t.Skip("run .ci/venv agents")
		}
		rows, log := rolloutOfSandbox(t, fmt.Sprintf("command: '%s' '%s'", python, filepath.Join(agents, "worker.py")), "--agent-workers", "1")
		if len(rows) != 2 || len(log) != 2 || rows[0].Status != outcomes.StatusOK || rows[1].Status != outcomes.StatusOK {
			t.Errorf("%d answers: %+v", len(log), rows)
		}
	})
}

// rolloutOfSandbox runs an agent twice on an example, and returns the rows and
// what the sandbox drew.
func rolloutOfSandbox(t *testing.T, agent string, more ...string) (rows []formats.Trajectory, log []sandbox.Sample) {
	t.Helper()
	dir := t.TempDir()
	server, err := sandboxtest.New(sandbox.Options{Models: []string{"tests/policy"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	examples := filepath.Join(dir, "examples.jsonl")
	if err := os.WriteFile(examples, []byte(`{"id":"a","question":"what is 2 + 3?"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "rollout")
	code, _, stderr := rollmill(t, append([]string{"rollout", "--examples", examples, "--agent", agent, "--generations", "2", "--concurrency", "2",
		"--agent-env", "LITELLM_LOCAL_MODEL_COST_MAP=True", // otherwise it fetches prices from the network
		"--sampling-seed", "3", "--url", web.URL + "/v1", "--model", "policy", "--max-failure-rate", "0", "--out", out}, more...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	_, rows = trajectoriesAt(t, out)
	return rows, server.Samples()
}

// checkRealAgent checks that a row has what each of these agents does: two turns
// and a tool's result in one path. It returns the samples in the row.
func checkRealAgent(t *testing.T, row *formats.Trajectory) (sampled []string) {
	t.Helper()
	if row.Status != outcomes.StatusOK || row.TokenSource != schema.TokensChoice || len(row.ToolSets) != 1 {
		t.Errorf("%s: status %s, source %q, %d sets of tools: %s", row.TrajectoryID, row.Status, row.TokenSource, len(row.ToolSets), row.Error)
	}
	roles := map[string]int{}
	var context []int
	for i, m := range row.Messages {
		roles[m.Role]++
		if int(m.Parent) != i-1 || m.Branch != "" {
			t.Errorf("message %d is on another path: %+v", i, m)
		}
		if !m.Sampled {
			continue
		}
		if m.PrefixBreak != "" {
			t.Errorf("message %d: the prefix broke by %s", i, m.PrefixBreak)
		}
		context = append(context, ints(m.PromptDeltaIDs)...)
		ids, logprobs := ints(m.TokenIDs), make([]float64, len(m.Logprobs))
		for k, x := range m.Logprobs {
			logprobs[k] = float64(x)
		}
		sampled = append(sampled, sampleText(context, ids, logprobs))
		context = append(context, ids...)
	}
	if roles["user"] != 2 || roles["tool"] == 0 || roles["assistant"] < 3 || roles["assistant"] != len(row.Calls) {
		t.Errorf("%s: the conversation is %v in %d calls", row.TrajectoryID, roles, len(row.Calls))
	}
	return sampled
}

// sampleText returns one answer as text, which is equal for equal ids and
// logprobs.
func sampleText(prompt, ids []int, logprobs []float64) string {
	short := make([]float32, len(logprobs))
	for i, x := range logprobs {
		short[i] = float32(x)
	}
	return fmt.Sprint(ids, short, " after ", prompt)
}

func ints(ids []int32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}
