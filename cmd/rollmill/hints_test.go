package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noPolicy is a program for backend command whose begin names no policy.
func noPolicy() { fmt.Println(`{"state":"completed"}`) }

// TestRolloutAfterTheAgentWasMended: a rollout of which no attempt is ok does not keep the
// folder from the same command after its program was edited.
func TestRolloutAfterTheAgentWasMended(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	root := t.TempDir()
	tasks, agent := root+"/tasks.jsonl", root+"/agent.sh"
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(tasks, `{"id":"a","question":"q"}`+"\n")
	words := []string{"rollout", "--examples", tasks, "--agent", "command: sh " + agent, "--url", engine.URL + "/v1", "--model", "m",
		"--out", root + "/rollout", "--generations", "1"}
	write(agent, "exit 1\n")
	code, _, stderr := rollmill(t, words...)
	if code != 3 || !strings.Contains(stderr, "rollout --overwrite makes all of them again") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	write(agent, "exit 2\n")
	for _, more := range [][]string{nil, {"--retry-failed"}} { // what the message says to do works
		if code, _, stderr = rollmill(t, append(words, more...)...); code != 3 || strings.Contains(stderr, "holds another dataset") {
			t.Errorf("%q: exit code %d: %s", more, code, stderr)
		}
	}
}

// TestCheckNamesNoPolicy: check asks the trainer which policy it names, and its hints lead to
// settings that pass.
func TestCheckNamesNoPolicy(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	root := t.TempDir()
	tasks := root + "/tasks.jsonl"
	if err := os.WriteFile(tasks, []byte(`{"id":"a","question":"q"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	found := func(sets ...string) string {
		t.Helper()
		config := filepath.Join(t.TempDir(), "rollmill.yaml")
		text := "rollout:\n  examples: " + tasks + "\n  agent: chat\nscore:\n  reward: [\"n=expr:1.0\"]\nsubmit:\n  backend: command\n  trainer: nopolicy\n"
		if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		words := []string{"check", "--config", config, "--root", root + "/run"}
		for _, s := range sets {
			words = append(words, "--set", s)
		}
		_, stdout, stderr := rollmill(t, words...)
		for line := range strings.SplitSeq(stdout, "\n") {
			if strings.Contains(line, " model ") {
				return line
			}
		}
		return stderr
	}
	url := "rollout.url=" + engine.URL + "/v1"
	for _, c := range []struct {
		sets []string
		want string
	}{
		{nil, "the trainer's begin names no policy"},
		{[]string{url, "rollout.model=clerk"}, `"clerk" is sampled, but "policy" is trained`},
		{[]string{url, "rollout.model=clerk", "submit.name=clerk"}, "clerk is sampled and trained"},
	} {
		if got := found(c.sets...); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.sets, got)
		}
	}
}
