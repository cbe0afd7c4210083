package systemtest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
)

// TestVLLMForks forks conversations with a real vLLM. What is repeated has the ids and logprobs of its
// origin and does not train; what follows is sampled behind the same tokens, as teacher forcing shows.
func TestVLLMForks(t *testing.T) {
	if os.Getenv("VLLM") == "" {
		t.Skip("make vllm runs it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	engine := serveVLLM(t, root)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("tasks.jsonl"), []byte(`{"id":"a","question":"what is 1 + 3?"}`+"\n"+`{"id":"b","question":"go on"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	agent := fmt.Sprintf("command: '%s' '%s' turns", filepath.Join(root, ".venv-vllm/bin/python"), filepath.Join(root, "testdata/vllm/agent.py"))
	run := func(args ...string) {
		t.Helper()
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	rolling := []string{"rollout", "--examples", at("tasks.jsonl"), "--generations", "3", "--url", engine + "/v1", "--model", "tiny", "--sampling-seed", "1",
		"--sampling", "max_tokens=24", "--agent", agent}
	run(append(rolling, "--out", at("rollout"))...)
	run("score", "--in", at("rollout"), "--reward", "n=expr:len(answer)")
	run("group", "--in", at("score"))
	run("curate", "--in", at("group"), "--plan-forks", "even", "--plan-generations", "3")
	run(append(rolling, "--plan", at("curate"), "--extend", at("rollout"), "--out", at("forked/rollout"))...)
	run("score", "--in", at("forked/rollout"), "--from", at("score"), "--only", "missing")
	run("group", "--in", at("forked/score"), "--estimator", "value")
	_, before := trajectoriesAt(t, at("rollout"))
	_, rows := trajectoriesAt(t, at("forked/rollout"))
	origins, trained, forks, worst := map[string]*formats.Trajectory{}, 0, 0, 0.0
	for i := range before {
		origins[before[i].TrajectoryID] = &before[i]
		if !slices.ContainsFunc(rows, func(r formats.Trajectory) bool { return cmp.Equal(r, before[i], cmpopts.EquateEmpty()) }) {
			t.Errorf("attempt %s is another one", before[i].TrajectoryID)
		}
	}
	for i := range rows {
		row := &rows[i]
		origin := origins[row.ForkedFrom]
		for k := range row.Messages {
			if row.Trained(k) {
				trained += len(row.Messages[k].Logprobs)
			}
			if origin != nil && row.Messages[k].Call < *row.ForkCall && row.Messages[k].Sampled {
				if d := cmp.Diff(origin.Messages[k], row.Messages[k], cmpopts.EquateEmpty()); d != "" || row.Trained(k) {
					t.Errorf("fork %s, message %d, trained %v: %s", row.TrajectoryID, k, row.Trained(k), d)
				}
			}
		}
		if origin == nil {
			continue
		}
		forks++
		all, problem := sequences.Of(row)
		if problem != nil || row.Status == outcomes.StatusFailed {
			t.Fatal(problem, row.Error)
		}
		for _, s := range all {
			want, _ := promptLogprobs(t, engine, "tiny", s.Prompt, s.Response, 0)
			for k, span := range s.Versions {
				for n, p := range row.Messages[s.Messages[k]].Logprobs {
					worst = max(worst, math.Abs(float64(p-want[int(span.Start)+n])))
				}
			}
		}
	}
	paid := int32(0)
	for i := range rows {
		for _, c := range rows[i].Calls {
			paid += c.CompletionTokens
		}
	}
	t.Logf("%d forks of %d trajectories; %d tokens were sampled and %d train, at most %.2g from teacher forcing", forks, len(before), paid, trained, worst)
	if forks != 3*len(before) || int(paid) != trained || worst > 1e-4 {
		t.Error("the forks are not continuations of their origins")
	}
	d, err := dataset.Open(t.Context(), at("forked/group"), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stats, err := dataset.ReadAll[formats.GroupStats](t.Context(), d, schema.TableGroups, dataset.Range{Rows: d.Tables[schema.TableGroups].Rows})
	if err != nil || len(stats) != 2+len(before) {
		t.Errorf("%d groups, %v", len(stats), err)
	}
}
