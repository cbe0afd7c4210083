package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/inspect"
)

// TestDiff scores trajectories twice and compares: a table, JSON, a plot.
func TestDiff(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	for name, reward := range map[string]string{"a": "expr:len(answer)", "b": "expr:generation == 0 ? 0 : len(answer)"} {
		if code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/"+name, "--reward", reward); code != 0 {
			t.Fatal(stderr)
		}
	}
	for _, b := range []string{"a", "b"} {
		plot := root + "/" + b + ".png"
		code, out, stderr := rollmill(t, "diff", "--a", root+"/a", "--b", root+"/"+b, "--plot", plot)
		if code != 0 || !strings.Contains(out, "rank correlation") || strings.Contains(out, "moved             0 of") != (b == "a") {
			t.Errorf("exit code %d: %s\n%s", code, stderr, out)
		}
		if png, err := os.ReadFile(plot); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("the plot is %.10q, %v", png, err)
		}
	}
	_, out, _ := rollmill(t, "diff", "--a", root+"/a", "--b", root+"/b", "--json", "--movers", "2")
	var d inspect.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Moved != 4 || len(d.Movers) != 2 || d.Movers[0].Answer == "" {
		t.Errorf("%v: %s", err, out)
	}
	if code, _, _ := rollmill(t, "diff", "--a", root+"/a"); code != 2 {
		t.Errorf("one dataset: exit code %d", code)
	}
	if code, _, stderr := rollmill(t, "diff", "--a", root+"/a", "--b", root+"/rollout"); code != 4 {
		t.Errorf("trajectories: exit code %d: %s", code, stderr)
	}
}
