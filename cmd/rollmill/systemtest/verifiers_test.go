package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestVerifiers makes attempts in environments of the Python package verifiers of both
// APIs: a question, a tool and a game. The engine's answers depend on the prompt alone,
// so verifiers' own evaluation has the same conversations.
func TestVerifiers(t *testing.T) {
	const v1, old = "environments", "environments-0.3"
	for _, c := range []struct {
		name, venv, args, own string
		tasks, calls          int
		script                func(recordertest.Request) recordertest.Reply
	}{
		{name: "adds", venv: old, args: `{"count": 3}`, tasks: 3, calls: 1},
		{name: "doubles", venv: v1, args: `{"taskset": {"count": 2}}`, own: "agent", tasks: 2, calls: 2, script: doubling},
		{name: "textarena", venv: v1, args: `{"taskset": {"game": "Hangman-v0"}}`, own: "player", tasks: 2, script: guessing},
	} {
		t.Run(c.name, func(t *testing.T) {
			python := verifiersPython(t, c.venv)
			e := (&recordertest.Engine{Model: "policy", Source: schema.TokensChoice, PromptIDs: true, Script: c.script}).Start(t)
			root := t.TempDir()
			examples := "verifiers:" + c.name
			if c.own == "player" {
				examples += fmt.Sprint(":", c.tasks)
			}
			made := filepath.Join(root, "rollout")
			finish(t, []string{"rollout", "--examples", examples, "--agent", "verifiers", "--env-args", c.args, "--python", python, "--generations", "2",
				"--url", e.URL(), "--model", "policy", "--out", made})
			_, rows := trajectoriesAt(t, made)
			sampled := map[string]bool{}
			for _, s := range e.Sampled() {
				sampled[fmt.Sprint(s.IDs, s.Logprobs)] = true
			}
			if len(rows) != 2*c.tasks {
				t.Errorf("%d rows", len(rows))
			}
			for _, r := range rows {
				if r.Status != outcomes.StatusOK || c.calls > 0 && len(r.Calls) != c.calls {
					t.Errorf("%s: %s, %d calls: %s", r.ExampleID, r.Status, len(r.Calls), r.Error)
					continue
				}
				checkSampled(t, r.ExampleID, r, sampled)
			}
			own := evaluated(t, python, c.name, c.args, c.own, c.tasks, e.URL())
			for _, r := range rows {
				got := evaluation{Reward: *r.Reward, Parts: map[string]float64{}}
				for _, part := range r.Rewards {
					if part.Name != formats.AgentReward {
						got.Parts[part.Name] = *part.Value
					}
				}
				if d := cmp.Diff(own[r.ExampleID], got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
					t.Errorf("%s: -own +ours: %s", r.ExampleID, d)
				}
			}
			rescored(t, filepath.Dir(python), c.name, c.args, made, rows, c.own == "player")
		})
	}
}

// TestVerifiersFailures: an engine's refusal and a reward function that fails, which
// verifiers takes for the reward 0, fail the attempt.
func TestVerifiersFailures(t *testing.T) {
	for _, c := range []struct {
		name, venv, args string
		refuses          bool
		failed           int
		class, says      string
	}{
		{"adds", "environments-0.3", `{"count": 3, "broken": true}`, false, 1, outcomes.FailAgentExit, "reward sober: ValueError: four is not scored"},
		{"adds", "environments-0.3", `{"count": 3}`, true, 3, outcomes.FailEngineRefused, "HTTP 400"},
		{"doubles", "environments", `{"taskset": {"count": 2}}`, true, 2, outcomes.FailEngineRefused, "HTTP 400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			python := verifiersPython(t, c.venv)
			e := &recordertest.Engine{Model: "policy", Source: schema.TokensChoice, PromptIDs: true}
			if c.refuses {
				e.Fault = func(int, recordertest.Request) recordertest.Fault { return recordertest.Fault{Status: 400} }
			}
			e.Start(t)
			made := filepath.Join(t.TempDir(), "rollout")
			finish(t, []string{"rollout", "--examples", "verifiers:" + c.name, "--agent", "verifiers", "--env-args", c.args, "--python", python,
				"--url", e.URL(), "--model", "policy", "--max-failure-rate", "1", "--max-initial-failures", "-1", "--out", made})
			failed := 0
			_, rows := trajectoriesAt(t, made)
			for _, r := range rows {
				if r.Status == outcomes.StatusFailed {
					failed++
					if r.FailureClass != c.class || !strings.Contains(r.Error, c.says) || r.Reward != nil {
						t.Errorf("%s: %s %s", r.ExampleID, r.FailureClass, r.Error)
					}
				}
			}
			if failed != c.failed {
				t.Errorf("%d of %d failed", failed, len(rows))
			}
		})
	}
}

// verifiersPython returns the Python of an environment, which finds the test environments.
func verifiersPython(t *testing.T, venv string) string {
	t.Helper()
	files, _ := filepath.Abs("../../../testdata/verifiers")
	source, _ := filepath.Abs("../../python/src")
	t.Setenv("PYTHONPATH", source+string(os.PathListSeparator)+files)
	t.Setenv("NLTK_DATA", filepath.Join(files, "nltk_data"))
	python, _ := filepath.Abs("../../../.venv-" + venv + "/bin/python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf(".ci/install %s brings it: %v", venv, err)
	}
	return python
}

type evaluation struct {
	Reward float64
	Parts  map[string]float64
}

// evaluated returns verifiers' own evaluation by task.
func evaluated(t *testing.T, python, name, args, agent string, tasks int, url string) map[string]evaluation {
	t.Helper()
	if agent != "" {
		args = strings.Replace(args, "{", fmt.Sprintf(`{"%s": {"runtime": {"type": "subprocess"}, "harness": {"id": "null"}}, `, agent), 1)
	}
	cmd := exec.Command(python, "../../../testdata/verifiers/evaluate.py", name, args, fmt.Sprint(tasks), url)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	own := map[string]evaluation{}
	for line := range bytes.Lines(out) {
		var one struct {
			ID string
			evaluation
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		own[one.ID] = one.evaluation
	}
	return own
}

// rescored scores the stored rows with the environment; a game's rewards are its own
// process's, which is said.
func rescored(t *testing.T, bin, name, args, made string, rows []formats.Trajectory, game bool) {
	t.Helper()
	out := made + "-scores"
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	code, _, stderr := rollmill(t, "score", "--in", made, "--reward", "v=verifiers:"+name+" --args '"+args+"'", "--out", out)
	if game {
		if code == 0 || !strings.Contains(stderr, "rewards need the environment") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		return
	}
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	d, err := dataset.Open(t.Context(), out, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := dataset.ReadAll[formats.Score](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if s := scores[i]; s.Reward == nil || *s.Reward != *r.Reward {
			t.Errorf("%s: %v, scored again %v", r.ExampleID, *r.Reward, s.Reward)
		}
	}
}

// doubling calls the tool and says its result.
func doubling(q recordertest.Request) recordertest.Reply {
	last := q.Messages[len(q.Messages)-1]
	if last.Role == "tool" {
		return recordertest.Reply{Content: "It is " + last.Content + "."}
	}
	var tools []struct{ Function struct{ Name string } }
	_ = json.Unmarshal(q.Fields["tools"], &tools)
	number := strings.Fields(last.Content)[1]
	return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "call-0", Name: tools[0].Function.Name, Arguments: `{"n": ` + number + `}`}}}
}

// guessing guesses one letter after the other.
func guessing(q recordertest.Request) recordertest.Reply {
	return recordertest.Reply{Content: "[" + string("ebmcranghltipsod"[len(q.Messages)/2%16]) + "]"}
}
