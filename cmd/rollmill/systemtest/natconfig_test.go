package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat/nattest"
)

// converted makes a folder with a task file, in which the test then runs, and
// returns the config file of that name among those that rollmill.nat, in Python,
// makes of NAT's configurations.
func converted(t *testing.T, name string) string {
	t.Helper()
	config, err := filepath.Abs("../../python/tests/nat/" + name + ".rollmill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tasks.json", []byte(`[{"id":"a","question":"left"},{"id":"b","question":"right"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	return config
}

// choice asks the sandbox's model as a workflow would, and returns the first choice.
func choice(t *testing.T, url string, messages []any) any {
	body, err := json.Marshal(map[string]any{"model": "demo", "messages": messages, "logprobs": true, "return_tokens_as_token_ids": true})
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	var answer struct{ Choices []any }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		t.Errorf("%s: %v", resp.Status, err)
		return nil
	}
	return answer.Choices[0]
}

// TestConvertedConfigTrains trains two epochs with a converted configuration: the
// workflow is a server with NAT's protocol, the trainer is the sandbox.
func TestConvertedConfigTrains(t *testing.T) {
	server, err := sandbox.New(sandbox.Options{Models: []string{"tictactoe/demo"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	calls := make(chan int, 1)
	calls <- 0
	workflow := nattest.New(t, func(body map[string]any) *nattest.Play {
		n := <-calls
		calls <- n + 1
		messages := []any{map[string]any{"role": "user", "content": body["input_message"]}}
		return &nattest.Play{Lines: []string{
			nattest.Step("WORKFLOW_START", "w", "root", "my_workflow", "", 0, nil),
			nattest.Step("LLM_START", "l", "w", "demo", "adk", 1, map[string]any{"data": map[string]any{"payload": messages}}),
			nattest.Step("LLM_END", "l", "w", "demo", "adk", 2, map[string]any{"data": map[string]any{"payload": choice(t, web.URL, messages)}}),
			nattest.Value(n % 2),
		}}
	})
	config := converted(t, "two-epochs")
	t.Setenv("NAT_SERVER", workflow.URL)
	t.Setenv("ART_PORT", web.URL[strings.LastIndex(web.URL, ":")+1:])
	code, out, stderr := rollmill(t, "train", "--config", config, "--set", "score.reward=good=expr:answer == '1' ? 1 : 0")
	if code != 0 || out != "run" {
		t.Fatalf("exit code %d, %s:\n%s", code, out, stderr)
	}
	if asked := <-calls; asked != 2*2*4 {
		t.Errorf("the workflow ran %d times, want 16: 2 epochs of 2 examples, 4 generations each", asked)
	}
	checkCompleted(t, "run/epoch-1/submit/_receipt.json")
}

// TestRealWorkflowServerConverted trains an epoch with a converted configuration
// whose workflow NVIDIA's own server runs.
func TestRealWorkflowServerConverted(t *testing.T) {
	nat, err := filepath.Abs("../../../.venv-nat/bin/nat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(nat); err != nil {
		t.Skip("run .ci/venv nat")
	}
	server, err := sandbox.New(sandbox.Options{Models: []string{"tictactoe/demo"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	workflow, err := os.ReadFile("../../../testdata/agents/nat/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	served := strings.Replace(string(workflow), "model_name: rollmill/sandbox",
		"model_name: demo\n    model_kwargs: {extra_body: {return_tokens_as_token_ids: true}}", 1)
	config := converted(t, "two-epochs")
	if err := os.WriteFile("workflow.yml", []byte(served), 0o644); err != nil { // that server lacks NAT's package for ART
		t.Fatal(err)
	}
	t.Setenv("NAT_SERVER", serveWorkflow(t, nat, "workflow.yml", web.URL))
	t.Setenv("ART_PORT", web.URL[strings.LastIndex(web.URL, ":")+1:])
	code, out, stderr := rollmill(t, "train", "--config", config, "--epochs", "1", "--set", "score.reward=good=expr:generation")
	if code != 0 || out != "run" {
		t.Fatalf("exit code %d, %s:\n%s", code, out, stderr)
	}
	checkCompleted(t, "run/epoch-0/submit/_receipt.json")
}

// checkCompleted checks that a submission was trained.
func checkCompleted(t *testing.T, path string) {
	t.Helper()
	var receipt struct {
		State string `json:"state"`
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &receipt)
	}
	if err != nil || receipt.State != "completed" {
		t.Errorf("%v: the submission is %q", err, receipt.State)
	}
}

// TestConvertedConfigMakesPairs makes the preference pairs of a converted
// configuration from a workflow's candidates, up to the file for Customizer.
func TestConvertedConfigMakesPairs(t *testing.T) {
	workflow := nattest.New(t, func(body map[string]any) *nattest.Play {
		prompt := []any{map[string]any{"role": "user", "content": body["input_message"]}}
		lines := []string{
			nattest.Step("WORKFLOW_START", "w", "root", "my_workflow", "", 0, nil),
			nattest.Step("LLM_START", "l", "w", "demo", "adk", 1, map[string]any{"data": map[string]any{"payload": prompt}}),
			nattest.Step("LLM_END", "l", "w", "demo", "adk", 2, map[string]any{"data": map[string]any{"payload": map[string]any{
				"message": map[string]any{"role": "assistant", "content": "move 0"}, "finish_reason": "stop",
				"logprobs": map[string]any{"content": []any{map[string]any{"token": "token_id:7", "logprob": -0.25}}}}}}),
		}
		for i, score := range []float64{0.9, 0.85, 0.1} {
			lines = append(lines, nattest.Step("TTC_END", fmt.Sprint("c", i), "w", "dpo_candidate_move", "", 3, map[string]any{"data": map[string]any{
				"input": prompt, "output": fmt.Sprint("move ", i), "turn_id": "t0", "turn_index": 0, "candidate_index": i, "score": score}}))
		}
		return &nattest.Play{Lines: append(lines, nattest.Value("done"))}
	})
	config := converted(t, "pairs")
	t.Setenv("NAT_SERVER", workflow.URL)
	t.Setenv("ROLLMILL_CONFIG", config)
	in := "run/epoch-0/rollout"
	for _, stage := range [][]string{{"rollout", "--model", "demo", "--run", "r"}, {"score", "--in"}, {"group", "--in"}, {"curate", "--in"},
		{"submit", "--backend", "file", "--kinds", "customizer-dpo", "--in"}} {
		if stage[len(stage)-1] == "--in" {
			stage = append(stage, in)
		}
		code, out, stderr := rollmill(t, stage...)
		if code != 0 {
			t.Fatalf("%s: exit code %d:\n%s", stage, code, stderr)
		}
		in = out
	}
	data, err := os.ReadFile(filepath.Join(in, "customizer-dpo.jsonl"))
	want := `{"prompt":[{"role":"user","content":"left"}],"chosen_response":"move 0","rejected_response":"move 2"}
{"prompt":[{"role":"user","content":"left"}],"chosen_response":"move 1","rejected_response":"move 2"}
{"prompt":[{"role":"user","content":"right"}],"chosen_response":"move 0","rejected_response":"move 2"}
{"prompt":[{"role":"user","content":"right"}],"chosen_response":"move 1","rejected_response":"move 2"}
`
	if err != nil || string(data) != want {
		t.Errorf("%v:\n%s", err, data)
	}
}

// TestNATEvaluatorReward runs the program that the guide shows, with evaluators
// as NAT's server has them: one that scores, one that catches its own error and
// then answers 0, and one that does not exist.
func TestNATEvaluatorReward(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	guide, err := os.ReadFile("../doc/guides/coming-from-nat.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(guide), "```python\n")
	program, _, _ = strings.Cut(program, "```\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Evaluator string `json:"evaluator_name"`
			Item      struct {
				Input   string         `json:"input_obj"`
				Answer  string         `json:"output_obj"`
				Wanted  string         `json:"expected_output_obj"`
				Dataset map[string]any `json:"full_dataset_entry"`
			} `json:"item"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/evaluate/item" || asked.Item.Dataset["id"] == nil {
			t.Errorf("%s: %v: %+v", r.URL.Path, err, asked)
		}
		switch asked.Evaluator {
		case "accuracy":
			score := 0.0
			if asked.Item.Answer == asked.Item.Wanted {
				score = 1
			}
			fmt.Fprintf(w, `{"success":true,"result":{"id":"1","score":%v,"reasoning":"compared","error":null},"error":null}`, score)
		case "raises":
			fmt.Fprint(w, `{"success":true,"result":{"id":"1","score":0.0,"reasoning":{"error":"Evaluator error: no model"},"error":null},"error":null}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for evaluator, want := range map[string]string{
		"accuracy": `{"id": "x", "reward": 1} {"id": "y", "reward": 0}`,
		"raises":   `{"id": "x", "reward": null, "error": "Evaluator error: no model"} {"id": "y", "reward": null, "error": "Evaluator error: no model"}`,
		"none":     `{"id": "x", "reward": null, "error": "HTTP Error 404: Not Found"} {"id": "y", "reward": null, "error": "HTTP Error 404: Not Found"}`,
	} {
		cmd := exec.Command(python, "-c", program, evaluator)
		cmd.Env = append(os.Environ(), "NAT_SERVER="+server.URL)
		cmd.Stdin = strings.NewReader(`{"id":"x","answer":"4","example":{"id":1,"question":"2+2?","answer":"4"}}` + "\n" +
			`{"id":"y","answer":"5","example":{"id":1,"question":"2+2?","answer":"4"}}` + "\n")
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), " "); err != nil || got != want {
			t.Errorf("%s: %v: %s", evaluator, err, got)
		}
	}
}
