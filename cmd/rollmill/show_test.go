package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scoredAndGrouped writes a rollout, scores with nulls, and groups.
func scoredAndGrouped(t *testing.T, root string) {
	t.Helper()
	stored(t, root+"/rollout")
	for _, words := range [][]string{
		{"score", "--in", root + "/rollout", "--reward", "r=expr:generation == 2 ? nil : (generation + 1) * len(example_id) - sampled_tokens"},
		{"group", "--in", root + "/score"},
	} {
		if code, _, stderr := rollmill(t, words...); code != 0 {
			t.Fatal(stderr)
		}
	}
}

type shown struct {
	ID     string   `json:"trajectory_id"`
	Reward *float64 `json:"reward"`
	Tokens int      `json:"sampled_tokens"`
	Answer string   `json:"answer"`
}

// showRows returns the rows that show prints as JSON.
func showRows(t *testing.T, args ...string) (rows []shown) {
	t.Helper()
	code, out, stderr := rollmill(t, append([]string{"show", "--format", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("show %q: exit code %d: %s", args, code, stderr)
	}
	for line := range strings.Lines(out) {
		var row shown
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestShowSorts compares the order of rows with that of all of them, sorted here:
// thin and wide datasets, columns of the base, tables, nulls, filters.
func TestShowSorts(t *testing.T) {
	root := t.TempDir()
	scoredAndGrouped(t, root)
	rewards := func(in string, args ...string) (out []float64) {
		for _, r := range showRows(t, append([]string{root + "/" + in, "--columns", "trajectory_id,reward,sampled_tokens,answer"}, args...)...) {
			v := 1e9 // null
			if r.Reward != nil {
				v = *r.Reward
			}
			if out = append(out, v); r.Tokens == 0 || r.Answer == "" {
				t.Errorf("%s: %+v has no columns of the base", in, r)
			}
		}
		return out
	}
	all := rewards("score", "--rows", "100")
	slices.Sort(all)
	if len(all) != 16 || all[12] != 1e9 || all[11] == 1e9 {
		t.Fatalf("%v", all)
	}
	descending := append(slices.Clone(all[:12]), all[12:]...)
	slices.Reverse(descending[:12])
	for _, in := range []string{"score", "group"} {
		for n := range 17 {
			if testing.Short() && !slices.Contains([]int{0, 1, 5, 11, 12, 13, 16}, n) {
				continue // around none, the null rewards and all
			}
			rows := fmt.Sprint(n)
			if got := rewards(in, "--sort", "reward", "--rows", rows); !slices.Equal(got, all[:n]) {
				t.Errorf("%s, %d rows: %v, not %v", in, n, got, all[:n])
			}
			if got := rewards(in, "--sort", "reward", "--desc", "--rows", rows); !slices.Equal(got, descending[:n]) {
				t.Errorf("%s, the last %d rows: %v, not %v", in, n, got, descending[:n])
			}
			if got := rewards(in, "--worst", rows); n > 0 && !slices.Equal(got, all[:n]) {
				t.Errorf("%s, worst %d rows: %v", in, n, got)
			}
		}
	}
	where := []string{root + "/score", "--where", "generation != 1 && reward != nil", "--sort", "sampled_tokens", "--rows", "5", "--columns",
		"sampled_tokens,trajectory_id"}
	got := showRows(t, where...)
	for i, r := range got {
		if len(got) != 5 || i > 0 && got[i-1].Tokens > r.Tokens {
			t.Errorf("%+v", got)
		}
	}
	named := showRows(t, root+"/group", "--sort=-reward", "--rows", "12")
	for i, r := range named {
		if len(named) != 12 || *r.Reward != descending[i] {
			t.Errorf("%+v", named)
		}
	}
	_, out, _ := rollmill(t, "show", root+"/score", "--sort", "sampled_tokens", "--rows", "2")
	if !strings.Contains(out, "trajectory_id  ") || !strings.Contains(out, "  sampled_tokens  example_id") {
		t.Errorf("the column is not shown:\n%s", out)
	}
}

func TestShowRefusesWhatCannotBeSorted(t *testing.T) {
	root := t.TempDir()
	scoredAndGrouped(t, root)
	for args, says := range map[string]string{
		"--sort rewards":           "has no order",
		"--sort reword":            "unknown name reword",
		"--desc":                   "--desc has nothing to sort",
		"--worst 3 --rows 4":       "--worst is given with",
		"--sort reward --first 3":  "--first is a row",
		"--columns advantage":      `no column "advantage"`,
		"--worst 3 --table _plan":  "_plan",
		"--where reward>9 --group": "group",
	} {
		code, out, stderr := rollmill(t, append([]string{"show", root + "/score"}, strings.Fields(args)...)...)
		if code != 2 && code != 4 || out != "" || !strings.Contains(stderr, says) {
			t.Errorf("%s: exit code %d, %s%s", args, code, out, stderr)
		}
	}
}

// TestShowOfNothing: a filter that keeps no row says so, in each format.
func TestShowOfNothing(t *testing.T) {
	root := t.TempDir()
	scoredAndGrouped(t, root)
	const says = "no row: --where or --failed keeps none"
	for _, format := range []string{"text", "markdown", "json"} {
		for _, more := range [][]string{nil, {"--sort", "reward"}} {
			_, out, stderr := rollmill(t, append([]string{"show", root + "/score", "--where", "reward > 1e6", "--format", format}, more...)...)
			if !strings.Contains(stderr, says) || (format == "json") != (out == "") {
				t.Errorf("%s: %q, %q", format, out, stderr)
			}
		}
	}
	if _, _, stderr := rollmill(t, "show", root+"/score", "--where", "generation == 0"); strings.Contains(stderr, says) {
		t.Error(stderr)
	}
}

// TestShowRun: the folder of a run has its epochs, their datasets, and the command
// that goes on.
func TestShowRun(t *testing.T) {
	l := storedRun(t, t.TempDir()+"/a run", 2)
	for _, words := range [][]string{{"score", "--epochs", "0.."}, {"score", "--epochs", "1", "--as", "b"}} {
		if code, _, stderr := rollmill(t, append(words, "--root", l.Root, "--reward", "r=expr:2")...); code != 0 {
			t.Fatal(stderr)
		}
	}
	code, out, stderr := rollmill(t, "show", l.Root)
	if code != 0 || !strings.Contains(out, "\nepoch-0/{rollout,score}\nepoch-1/{rollout,score,b}\n") || !strings.Contains(out, "reward b") ||
		!strings.Contains(out, "\nnext: rollmill group --root '"+l.Root+"' --epoch 1") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	_, out, _ = rollmill(t, "show", l.Root, "--json")
	var v shownRun
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Epochs) != 2 || *v.Epochs[1].Scores["b"].Mean != 2 || v.Next == "" {
		t.Errorf("%v: %s", err, out)
	}
	code, out, stderr = rollmill(t, "show", t.TempDir())
	if code != 4 || out != "" || !strings.Contains(stderr, "no dataset") {
		t.Errorf("an empty folder: exit code %d, %s%s", code, out, stderr)
	}
}
