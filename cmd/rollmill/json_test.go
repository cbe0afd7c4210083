package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// demo runs one epoch against a sandbox and returns its folder and the sandbox's
// URL.
func demo(t *testing.T) (dir, url string) {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{Models: []string{"project/name"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); server.Close() })
	dir = t.TempDir()
	tasks := filepath.Join(dir, "tasks.jsonl")
	if err := os.WriteFile(tasks, []byte(`{"id":"a","question":"Your move."}`+"\n"+`{"id":"b","question":"Move."}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, web.URL
}

// inProcessJSON runs a command with --json and returns what it printed.
func inProcessJSON(ctx context.Context, words []string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	code = app().Run(ctx, append([]string{"rollmill"}, append(words, "--json")...), terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Lookup: none})
	return code, out.String(), err.String()
}

// TestEveryCommandPrintsJSON checks that with --json every command prints exactly
// one JSON document.
func TestEveryCommandPrintsJSON(t *testing.T) {
	dir, url := demo(t)
	epoch := filepath.Join(dir, "demo", "epoch-0")
	at := func(stage string) string { return filepath.Join(epoch, stage) }
	tasks := filepath.Join(dir, "tasks.jsonl")
	line := []string{
		"--set", "rollout.examples=" + tasks, "--set", "rollout.generations=2",
		"--set", "score.reward=n=expr:generation", "--set", "submit.backend=art", "--set", "submit.url=" + url, "--set", "submit.target=project/name", "--root", filepath.Join(dir, "train"),
	}
	chats := filepath.Join(dir, "chats.jsonl")
	if err := os.WriteFile(chats, []byte(`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	calls := []struct {
		words []string
		code  int
	}{
		{[]string{"import", "--from", "chat", "--in", chats, "--out", filepath.Join(dir, "imported")}, 0},
		{[]string{"import", "--from", "chat", "--in", chats, "--check"}, 0},
		{[]string{"export", "--in", filepath.Join(dir, "imported"), "--to", "rows", "--out", filepath.Join(dir, "rows.jsonl")}, 0},
		{[]string{"rollout", "--examples", tasks, "--url", url + "/v1", "--model", "rollmill/sandbox", "--generations", "4", "--sampling-seed", "1", "--out",
			at("rollout")}, 0},
		{[]string{"score", "--in", at("rollout"), "--reward", "n=expr:generation"}, 0},
		{[]string{"score", "--in", at("rollout"), "--reward", "n=expr:len(answer)", "--out", at("score-2")}, 0},
		{[]string{"group", "--in", at("score")}, 0},
		{[]string{"curate", "--in", at("group")}, 0},
		{[]string{"submit", "--in", at("curate"), "--backend", "file", "--dry-run"}, 0},
		{[]string{"submit", "--in", at("curate"), "--backend", "file"}, 0},
		{[]string{"submit", "--prepare", "--backend", "art", "--url", url, "--target", "project/name", "--out", filepath.Join(dir, "policy"), "--root",
			filepath.Join(dir, "demo")}, 0},
		{append([]string{"check"}, line...), 0},
		{append([]string{"train"}, line...), 0},
		{append([]string{"refill", "--epoch", "0"}, line...), 0},
		{append([]string{"try", "2"}, line...), 0},
		{[]string{"init", filepath.Join(dir, "begun")}, 0},
		{[]string{"job", "status", "--in", at("submit"), "--backend", "file"}, 0},
		{[]string{"job", "list", "--in", at("submit")}, 0},
		{[]string{"job", "list", "--ledger", at("rollout")}, 0},
		{[]string{"report", "--root", filepath.Join(dir, "demo")}, 0},
		{[]string{"show", "--in", at("group"), "--table", "_groups"}, 0},
		{[]string{"show", "--in", at("group")}, 0},
		{[]string{"show", "--in", at("group"), "--group", "a@0"}, 0},
		{[]string{"explain", "--in", at("rollout"), ""}, 4}, // a prefix of all ids
		{[]string{"audit", "--in", at("curate")}, 0},
		{[]string{"prove", epoch}, 0},
		{[]string{"diff", "--a", at("score"), "--b", at("score-2")}, 0},
		{[]string{"replay", "--in", at("rollout")}, 0},
		{[]string{"eval", "--in", at("score")}, 0},
		{[]string{"seal", "--in", at("score")}, 0},
		{[]string{"compact", "--in", at("score")}, 0},
		{[]string{"compact", "--in", at("rollout"), "--dry-run"}, 0},
		{[]string{"prune", "--root", filepath.Join(dir, "demo")}, 0},
		{[]string{"check", "--store", "mem://json-of-every-command"}, 0},
		{[]string{"completion", "zsh"}, 0},
		{[]string{"sandbox", "--listen", "127.0.0.1:0"}, 0},
		{[]string{"view", filepath.Join(dir, "demo")}, 0},
	}
	seen := map[string]bool{}
	for _, c := range calls {
		seen[c.words[0]] = true
		if slices.Contains(c.words, "--store") && testing.Short() {
			continue
		}
		ctx := t.Context()
		if c.words[0] == "sandbox" || c.words[0] == "view" { // serve until they are interrupted
			var end context.CancelFunc
			ctx, end = context.WithTimeout(ctx, time.Second)
			defer end()
		}
		code, stdout, stderr := inProcessJSON(ctx, c.words)
		if code != c.code && c.words[0] != "sandbox" {
			t.Errorf("%q: exit code %d, want %d: %s", c.words, code, c.code, stderr)
			continue
		}
		if code == cli.ExitInput {
			if stdout != "" {
				t.Errorf("%q: prints %q with its error", c.words, stdout)
			}
			continue
		}
		checkJSON(t, c.words, stdout)
	}
	for _, cmd := range app().Commands {
		if !seen[cmd.Name] {
			t.Errorf("no case runs %s --json", cmd.Name)
		}
	}
}

var goName = regexp.MustCompile(`^[A-Z][a-z]`)

// checkJSON checks that a text is one JSON object whose names are in snake case.
func checkJSON(t *testing.T, words []string, text string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var document any
	if err := d.Decode(&document); err != nil {
		t.Errorf("%q: %v: %.200q", words, err, text)
		return
	}
	if rest, err := io.ReadAll(io.MultiReader(d.Buffered(), strings.NewReader(""))); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("%q: something follows the document: %.200q", words, rest)
	}
	if _, ok := document.(map[string]any); !ok {
		t.Errorf("%q: prints a %T, not an object", words, document)
	}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if goName.MatchString(name) {
					t.Errorf("%q: the name %s.%s is not in snake case", words, path, name)
				}
				walk(inner, path+"."+name)
			}
		case []any:
			for _, inner := range v {
				walk(inner, path)
			}
		}
	}
	walk(document, "")
}
