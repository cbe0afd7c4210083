package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/rollout/agents/nat/nattest"
)

// TestNATWorkflows rolls out a workflow server, from flags to the dataset: an
// answer, a workflow that fails, and one that never ends.
func TestNATWorkflows(t *testing.T) {
	answer := func(text string) *nattest.Play {
		return &nattest.Play{Lines: []string{
			nattest.Step("WORKFLOW_START", "w", "root", "react_agent", "", 0, nil),
			nattest.Step("LLM_START", "l", "w", "policy", "adk", 1,
				map[string]any{"data": map[string]any{"payload": []any{map[string]any{"role": "user", "content": text}}}}),
			nattest.Step("LLM_END", "l", "w", "policy", "adk", 2, map[string]any{"data": map[string]any{"payload": map[string]any{
				"message": map[string]any{"role": "assistant", "content": "so " + text}, "finish_reason": "stop",
				"logprobs": map[string]any{"content": []any{map[string]any{"token": "token_id:7", "logprob": -0.25}}}}}}),
			nattest.Value(map[string]any{"output": "so " + text}),
		}}
	}
	s := nattest.New(t, func(body map[string]any) *nattest.Play {
		switch text := body["messages"].([]any)[0].(map[string]any)["content"].(string); text {
		case "boom":
			return &nattest.Play{Fault: nattest.Raised}
		case "slow":
			return &nattest.Play{Fault: nattest.Drip}
		default:
			return answer(text)
		}
	})
	root := t.TempDir()
	tasks := filepath.Join(root, "tasks.jsonl")
	if err := os.WriteFile(tasks, []byte(`{"id":"a","ask":"be it"}`+"\n"+`{"id":"b","ask":"boom"}`+"\n"+`{"id":"c","ask":"slow"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := rollmill(t, "rollout", "--examples", tasks, "--agent", "nat: "+s.URL, "--generations", "2", "--result-path", "$.output",
		"--request", `{"messages": [{"role": "user", "content": {{json .ask}}}]}`, "--target-function", "<workflow>", "--trajectory-timeout", "1s",
		"--max-failure-rate", "1", "--out", filepath.Join(root, "rollout"))
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, stderr)
	}
	rows := trajectoriesAt(t, out)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s/%d %s %s %q %d", r.ExampleID, r.Generation, r.Status, r.FailureClass, r.Answer, r.SampledTokens))
	}
	want := `a/0 ok  "so be it" 1|a/1 ok  "so be it" 1|b/0 failed agent_exit "" 0|b/1 failed agent_exit "" 0|c/0 failed timeout "" 0|c/1 failed timeout "" 0`
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}
