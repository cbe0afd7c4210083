package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/sequences"
)

// TestVLLMTeacher scores what a real vLLM sampled under the same weights and under others
// with the same tokenizer. The signals are those that the engine gives the same ids
// in a prompt, bit for bit.
func TestVLLMTeacher(t *testing.T) {
	if os.Getenv("VLLM") == "" {
		t.Skip("make vllm runs it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	policy := serveVLLM(t, root)
	other := serveVLLM(t, root, "--model", ".venv-vllm/other", "--served-model-name", "other")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("tasks.jsonl"), []byte(`{"id":"a","question":"what is 1 + 3?","known":"It is four."}`+"\n"+
		`{"id":"b","question":"go on","known":"Yes, go on."}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	agent := fmt.Sprintf("command: '%s' '%s' turns", filepath.Join(root, ".venv-vllm/bin/python"), filepath.Join(root, "testdata/vllm/agent.py"))
	run := func(args ...string) {
		t.Helper()
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	run("rollout", "--examples", at("tasks.jsonl"), "--generations", "3", "--url", policy+"/v1", "--model", "tiny", "--sampling-seed", "1",
		"--sampling", "max_tokens=64", "--agent", agent, "--out", at("rollout"))
	score := func(as string) {
		run("score", "--in", at("rollout"), "--out", at(as), "--judge-cache", at("cache"), "--reward", "own=teacher:"+policy+"/v1,model=tiny,top-k=4",
			"--reward", "t=teacher:"+other+"/v1,model=other", "--reward", "hinted=teacher:"+policy+"/v1,model=tiny,hint=known")
	}
	score("score")
	_, rows := trajectoriesAt(t, at("rollout"))
	d, err := dataset.Open(t.Context(), at("score"), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := dataset.ReadAll[formats.Score](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	tokens, apart, hinted, worst := 0, 0, 0, 0.0
	for i := range rows {
		all, problem := sequences.Of(&rows[i])
		if problem != nil {
			t.Fatal(problem)
		}
		for _, s := range all {
			own, tops := promptLogprobs(t, policy, "tiny", s.Prompt, s.Response, 4)
			theirs, _ := promptLogprobs(t, other, "other", s.Prompt, s.Response, 0)
			for k, span := range s.Versions {
				said := func(component string) *formats.Signal {
					n := slices.IndexFunc(scores[i].Signals, func(x formats.Signal) bool { return int(x.Message) == s.Messages[k] && x.Component == component })
					return &scores[i].Signals[n]
				}
				if got := said("own"); !slices.Equal(got.Values, own[span.Start:span.End]) || !slices.Equal(got.TopIDs, slices.Concat(tops[span.Start:span.End]...)) {
					t.Errorf("%s, message %d: the policy says %v and %v, teacher forcing %v", rows[i].TrajectoryID, s.Messages[k], got.Values, got.TopIDs,
						own[span.Start:span.End])
				}
				if got := said("t"); !slices.Equal(got.Values, theirs[span.Start:span.End]) {
					t.Errorf("%s, message %d: the teacher says %v, teacher forcing %v", rows[i].TrajectoryID, s.Messages[k], got.Values,
						theirs[span.Start:span.End])
				}
				for n, v := range said("own").Values {
					worst = max(worst, math.Abs(float64(v-rows[i].Messages[s.Messages[k]].Logprobs[n])))
					tokens++
					if v != said("t").Values[n] {
						apart++
					}
					if v != said("hinted").Values[n] {
						hinted++
					}
				}
			}
		}
	}
	t.Logf("%d rows, %d tokens, at most %.2g from the recorded logprobs; the teacher differs at %d, with a hint %d", len(rows), tokens, worst, apart, hinted)
	if tokens == 0 || worst > 1e-4 || apart == 0 || hinted == 0 {
		t.Error("the signals are not those of the models")
	}
}

// promptLogprobs returns what an engine says of the response's ids in a prompt, and the k
// most probable ids at each place.
func promptLogprobs(t *testing.T, engine, model string, prompt, response []int32, k int) (out []float32, tops [][]int32) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": model, "prompt": slices.Concat(prompt, response), "max_tokens": 1, "prompt_logprobs": k})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(engine+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct {
		Choices []struct {
			Prompt []map[int32]struct {
				Logprob float32
				Rank    int
			} `json:"prompt_logprobs"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	for i, id := range response {
		at := said.Choices[0].Prompt[len(prompt)+i]
		out = append(out, at[id].Logprob)
		top := make([]int32, k)
		for id, e := range at {
			if e.Rank <= k {
				top[e.Rank-1] = id
			}
		}
		tops = append(tops, top)
	}
	return out, tops
}
