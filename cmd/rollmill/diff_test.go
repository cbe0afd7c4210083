package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/look/diff"
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
		if strings.Contains(out, "a and b are one dataset") != (b == "a") {
			t.Errorf("a and %s: %s", b, out)
		}
		if png, err := os.ReadFile(plot); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("the plot is %.10q, %v", png, err)
		}
	}
	_, out, _ := rollmill(t, "diff", "--a", root+"/a", "--b", root+"/b", "--json", "--movers", "2")
	var d diff.Difference
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

// TestDiffEpochs compares two score datasets of a run's epochs: a line for each, and
// one that adds them up. An epoch without one of the two is named, and one whose
// datasets are about other trajectories.
func TestDiffEpochs(t *testing.T) {
	l := storedRun(t, t.TempDir(), 4)
	score := func(args ...string) {
		t.Helper()
		if code, _, stderr := rollmill(t, append([]string{"score", "--root", l.Root}, args...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	score("--epochs", "0..", "--reward", "r=expr:generation == 0 ? 1 : 0")
	score("--epochs", "1..2", "--as", "b", "--reward", "r=expr:generation == 0 && epoch == 0 && len(answer) % 2 == 0 ? 1 : 0.5")
	if _, text, _ := rollmill(t, "diff", "--root", l.Root, "--score", "score", "--score", "score"); !strings.Contains(text, "a and b are one dataset") {
		t.Error(text)
	}
	words := []string{"diff", "--root", l.Root, "--score", "score", "--score", "b", "--movers", "3"}
	code, text, stderr := rollmill(t, words...)
	if code != 0 || strings.Contains(text, "one dataset") || !strings.Contains(text, "\nepochs            2 added up; not in both: [0,3]") {
		t.Errorf("exit code %d\n%s%s", code, text, stderr)
	}
	_, out, _ := rollmill(t, append(words, "--json", "--epochs", "1..2", "--plot", l.Root+"/moved.svg")...)
	var r diff.Difference
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Epochs) != 2 || r.Absent != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var flipped int64
	for i, e := range r.Epochs {
		_, one, _ := rollmill(t, "diff", l.Stage(i+1, "score"), l.Stage(i+1, "b"), "--json", "--movers", "3")
		var alone diff.Difference
		err := json.Unmarshal([]byte(one), &alone)
		if alone.Epoch = i + 1; err != nil || !reflect.DeepEqual(alone, *e) {
			t.Errorf("%v: epoch %d is %+v, alone %+v", err, i+1, *e, alone)
		}
		flipped += e.Flipped
	}
	all := r
	if all.Rows != 32 || all.Groups != 8 || flipped == 0 || all.Flipped != flipped || len(all.Flips) != int(min(3, flipped)) ||
		len(all.Movers) != 3 || all.Movers[0].Answer == "" || *all.MeanA != 0.25 || all.ChangeStdErr == nil {
		t.Errorf("all: %+v of %d flipped", all, flipped)
	}
	if svg, err := os.ReadFile(l.Root + "/moved.svg"); err != nil || !strings.Contains(string(svg), "<svg") {
		t.Errorf("the plot is %.10q, %v", svg, err)
	}
	if err := os.RemoveAll(l.Stage(2, "rollout")); err != nil { // as prune does
		t.Fatal(err)
	}
	if code, out, stderr := rollmill(t, append(words, "--epochs", "1..2")...); code != 0 || !strings.Contains(out, "2 added up") {
		t.Errorf("without trajectories: exit code %d\n%s%s", code, out, stderr)
	}
	stored(t, l.Root+"/other")
	if code, _, stderr := rollmill(t, "score", "--in", l.Root+"/other", "--out", l.Stage(0, "b"), "--reward", "r=expr:1"); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--epochs 2..3", 4, `epoch 3 has not both "score" and "b"`},
		{"--epochs 9", 4, "there is no epoch 9"},
		{"--score c", 2, "two times --score"},
		{"--a x", 2, "no other datasets"},
	} {
		if code, _, stderr := rollmill(t, append(words, strings.Fields(c.args)...)...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d: %s", c.args, code, stderr)
		}
	}
}
