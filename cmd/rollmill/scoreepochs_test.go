package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
)

// storedRun writes the rollouts of a run's epochs.
func storedRun(t *testing.T, root string, epochs int) run.Layout {
	t.Helper()
	l := run.Layout{Root: root}
	for e := range epochs {
		stored(t, l.Stage(e, "rollout"))
	}
	return l
}

// TestScoreEpochs scores a range of a run again, beside its scores. An epoch that
// fails is named, and the others are scored; what is done is not scored again.
func TestScoreEpochs(t *testing.T) {
	l := storedRun(t, t.TempDir(), 4)
	words := []string{"score", "--root", l.Root, "--reward", "long=expr:len(answer) > 20 ? 1 : 0", "--as", "b", "--epochs"}
	rollout := l.Stage(2, "rollout")
	if err := os.Rename(rollout, rollout+"-away"); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := rollmill(t, append(words, "1..3")...)
	if want := l.Stage(1, "b") + "\n" + l.Stage(3, "b"); code != 4 || out != want ||
		!strings.Contains(stderr, "2 of 3 epochs scored:\nepoch 2: ") {
		t.Errorf("exit code %d, %q\n%s", code, out, stderr)
	}
	if err := os.Rename(rollout+"-away", rollout); err != nil {
		t.Fatal(err)
	}
	code, out, stderr = rollmill(t, append(words, "1..", "--json")...)
	var done struct{ Epochs []stages.Report }
	if err := json.Unmarshal([]byte(out), &done); err != nil || code != 0 || len(done.Epochs) != 3 {
		t.Fatalf("exit code %d, %v, %q\n%s", code, err, out, stderr)
	}
	for i, again := range []bool{true, false, true} {
		if r := done.Epochs[i]; r.UpToDate != again || r.Rows != 16 {
			t.Errorf("epoch %d: %+v", i+1, r)
		}
	}
	if files, err := filepath.Glob(filepath.Join(l.Epoch(0), "*")); err != nil || len(files) != 1 {
		t.Errorf("epoch 0 is not in the range, and has %q, %v", files, err)
	}
}

func TestScoreEpochsThatAreNotThere(t *testing.T) {
	l := storedRun(t, t.TempDir(), 2)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--epochs 1..5", 4, "there is no epoch 2"},
		{"--epochs 1..99999999999", 4, "there is no epoch 2"},
		{"--epochs 7..", 4, "there is no epoch 7"},
		{"--epochs 3..1", 2, "write 3..7"},
		{"--epochs one", 2, "write 3..7"},
		{"--epochs 0.. --in x", 2, "--epochs takes no --in"},
		{"--epochs 0.. --as group", 2, `--as "group"`},
		{"--epoch 0 --as ../b", 2, `--as "../b"`},
		{"--epochs 0.. --reward x=nothing:y", 2, "epoch 0: "},
	} {
		code, out, stderr := rollmill(t, append([]string{"score", "--root", l.Root, "--reward", "one=expr:1"}, strings.Fields(c.args)...)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %q\n%s", c.args, code, out, stderr)
		}
	}
}

// TestFurtherScoresAreOfWhatTrained: those of an epoch that was refilled are beside its last
// extension, of all of its rows, and diff finds them there. The stage itself reads what it read.
func TestFurtherScoresAreOfWhatTrained(t *testing.T) {
	l := storedRun(t, t.TempDir(), 2)
	extended := filepath.Join(l.Epoch(0), "extended")
	stored(t, filepath.Join(extended, "rollout"))
	if code, _, stderr := rollmill(t, "score", "--in", filepath.Join(extended, "rollout"), "--reward", "one=expr:1"); code != 0 {
		t.Fatal(stderr)
	}
	for _, name := range []string{"b", "c"} {
		code, out, stderr := rollmill(t, "score", "--root", l.Root, "--reward", "one=expr:1", "--as", name, "--epochs", "0..")
		if want := filepath.Join(extended, name) + "\n" + l.Stage(1, name); code != 0 || out != want {
			t.Errorf("exit code %d, %q\n%s", code, out, stderr)
		}
	}
	code, out, stderr := rollmill(t, "diff", "--root", l.Root, "--score", "b", "--score", "c", "--json")
	var d struct{ Epochs []struct{ Epoch, Rows int } }
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Epochs) != 2 {
		t.Errorf("exit code %d, %v, %s\n%s", code, err, out, stderr)
	}
	code, out, stderr = rollmill(t, "report", "--root", l.Root, "--json")
	if code != 0 || strings.Count(out, `"b":`) < 2 {
		t.Errorf("exit code %d, %s\n%s", code, out, stderr)
	}
	if code, out, stderr := rollmill(t, "score", "--root", l.Root, "--reward", "one=expr:1", "--epoch", "0"); code != 0 || out != l.Stage(0, "score") {
		t.Errorf("exit code %d, %q\n%s", code, out, stderr)
	}
}
