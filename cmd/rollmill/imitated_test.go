package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSolvedThresholdIsAFloor of what supervised training imitates, in submit and export,
// and without it a warning says how many are below 1.
func TestSolvedThresholdIsAFloor(t *testing.T) {
	epoch := proved(t)
	lines := func(name string) int {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
	submit := func(out string, words ...string) (int, string) {
		code, _, stderr := rollmill(t, append([]string{"submit", "--in", epoch + "/curate", "--ledger", t.TempDir(), "--out", out, "--kinds", "trl-sft",
			"--kinds", "customizer-sft", "--best", "-1"}, words...)...)
		return code, stderr
	}
	all := filepath.Join(t.TempDir(), "all")
	code, stderr := submit(all)
	if code != 0 || !strings.Contains(stderr, "have a reward below 1 (--solved-threshold") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	floor := filepath.Join(t.TempDir(), "floor")
	if code, stderr := submit(floor, "--solved-threshold", "1.2"); code != 0 || !strings.Contains(stderr, "are left out: their reward is below 1.2") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	file := filepath.Join(t.TempDir(), "x.jsonl")
	if code, _, stderr := rollmill(t, "export", "--in", epoch+"/curate", "--to", "trl-sft", "--best", "-1", "--solved-threshold", "1.2", "--out", file); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{"trl-sft.jsonl", "customizer-sft.jsonl"} {
		if before, after := lines(all+"/"+name), lines(floor+"/"+name); after == 0 || after >= before || after != lines(file) {
			t.Errorf("%s: %d of %d rows", name, after, before)
		}
	}
}

// TestLabelsOfOneKind are refused where they are made and where they would be trained on.
func TestLabelsOfOneKind(t *testing.T) {
	epoch := proved(t)
	words := []string{"group", "--in", epoch + "/score", "--labels", "--solved-threshold", "-100", "--out"}
	code, _, stderr := rollmill(t, append(words, epoch+"/one")...)
	if code != 3 || !strings.Contains(stderr, "gate labels") || !strings.Contains(stderr, "--solved-threshold") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := rollmill(t, "curate", "--in", epoch+"/one", "--out", epoch+"/c", "--accept-gate", "labels"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := rollmill(t, "submit", "--in", epoch+"/c", "--ledger", t.TempDir(), "--out", epoch+"/all"); code != 0 ||
		!strings.Contains(stderr, "not written: trl-kto.jsonl: 8 attempts of several answers") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, c := range []struct {
		words []string
		code  int
	}{
		{[]string{"submit", "--in", epoch + "/c", "--ledger", t.TempDir(), "--out", epoch + "/s", "--kinds", "trl-kto"}, 4},
		{[]string{"export", "--in", epoch + "/c", "--to", "trl-kto", "--out", epoch + "/x.jsonl", "--accept-finding", "several_answers"}, 4},
	} {
		if code, _, stderr := rollmill(t, c.words...); code != c.code || !strings.Contains(stderr, "trl-kto") || !strings.Contains(stderr, "KTO needs good and bad answers") {
			t.Errorf("%s: exit code %d: %s", c.words, code, stderr)
		}
	}
	if _, err := os.Stat(epoch + "/all/trl-kto.jsonl"); err == nil {
		t.Error("written by default")
	}
}
