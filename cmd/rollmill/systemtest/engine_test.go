package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
)

// rolloutAt makes two attempts at each of count examples with the model "tiny" of
// an engine, logs a summary and returns the rows.
func rolloutAt(t *testing.T, url string, count int, args ...string) []formats.Trajectory {
	t.Helper()
	dir := t.TempDir()
	var examples strings.Builder
	for i := range count {
		fmt.Fprintf(&examples, `{"id":"e%d","question":"what is %d + 3?"}`+"\n", i, i)
	}
	file := filepath.Join(dir, "examples.jsonl")
	if err := os.WriteFile(file, []byte(examples.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	all := []string{"rollout", "--examples", file, "--generations", "2", "--concurrency", "8", "--retries", "0", "--max-initial-failures", "-1",
		"--max-failure-rate", "1",
		"--url", url, "--model", "tiny", "--sampling-seed", "1", "--out", filepath.Join(dir, "rollout")}
	if !strings.Contains(strings.Join(args, " "), "max_tokens") {
		all = append(all, "--sampling", "max_tokens=64")
	}
	from := time.Now()
	code, out, stderr := rollmill(t, append(all, args...)...)
	took := time.Since(from)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, rows := trajectoriesAt(t, out)
	states, calls, sampled, called := map[string]int{}, 0, 0, 0
	for _, r := range rows {
		states[strings.TrimSpace(r.Status+" "+r.FailureClass)]++
		calls, sampled = calls+len(r.Calls), sampled+int(r.SampledTokens)
		for _, m := range r.Messages {
			called += len(m.ToolCalls)
		}
	}
	t.Logf("%d trajectories %v, %d calls, %d sampled tokens, %d tool calls, in %.2f s", len(rows), states, calls, sampled, called, took.Seconds())
	return rows
}
