package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
)

// TestScoresAreJoined checks that grouping several scores of the same trajectories
// gives the same rows as scoring with all the rewards at once, with adjacent and
// scattered groups and any number of shards.
func TestScoresAreJoined(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	do := func(args ...string) {
		t.Helper()
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
	}
	rewards := []string{"a=expr:generation", "b*-0.5=steps:len(message.content)", "c*2=expr:generation == 1 ? int(answer + \"x\") : len(answer)",
		"d*0.25=steps:step + 1"}
	all := []string{"score", "--in", root + "/rollout", "--out", root + "/all"}
	for _, r := range rewards {
		all = append(all, "--reward", r)
		do("score", "--in", root+"/rollout", "--out", root+"/"+r[:1], "--reward", r)
	}
	do(all...)
	joined := []string{"--in", root + "/a", "--scores", root + "/b", "--scores", root + "/c", "--scores", root + "/d"}
	for name, by := range map[string][]string{"example": {"--estimator", "gdpo"}, "spilt": {"--by", "generation % 3"}} {
		rows := func(name string, args ...string) string {
			do(append(append([]string{"group", "--out", root + "/" + name}, by...), args...)...)
			d, err := dataset.Open(t.Context(), root+"/"+name, dataset.OpenOptions{})
			if err != nil {
				return err.Error()
			}
			return d.RowsDigest.String()
		}
		want := rows(name+"-all", "--in", root+"/all")
		if got := rows(name+"-joined", joined...); got != want {
			t.Errorf("%s: joined %s, scored at once %s", name, got, want)
		}
		if got := rows(name+"-alone", "--in", root+"/a"); got == want {
			t.Errorf("%s: one of them gives the rows of all", name)
		}
		got := ""
		for i := range 2 {
			got = rows(name+"-shards", append([]string{"--shard", fmt.Sprintf("%d/2", i)}, joined...)...)
		}
		if got != want {
			t.Errorf("%s: two shards %s, want %s", name, got, want)
		}
	}
	do("score", "--in", root+"/a", "--out", root+"/more", "--reward", "f=expr:2")
	do("curate", "--in", root+"/example-all", "--out", root+"/kept")
	do("score", "--in", root+"/kept", "--out", root+"/foreign", "--reward", "g=expr:2")
	for scores, want := range map[string]string{"/a": `both have a reward "a"`, "/more": `both have a reward "a"`, "/rollout": "holds trajectories",
		"/foreign": "does not score the trajectories"} {
		if code, _, stderr := rollmill(t, "group", "--in", root+"/a", "--scores", root+scores, "--out", root+"/no"); code != 4 ||
			!strings.Contains(stderr, want) {
			t.Errorf("--scores %s: exit code %d, %s", scores, code, stderr)
		}
	}
	if code, _, stderr := rollmill(t, "group", "--in", root+"/rollout", "--scores", root+"/a", "--out", root+"/no"); code != 2 ||
		!strings.Contains(stderr, "joins scores to scores") {
		t.Errorf("trajectories: exit code %d, %s", code, stderr)
	}
}
