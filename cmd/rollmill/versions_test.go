package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// versions is a folder with a folder for each schema version: a dataset of each
// stage, written by a rollmill of that version. They are never removed.
const versions = "../../testdata/versions"

// later lists the stages after rollout, with the settings that wrote the folders.
var later = [][]string{
	{"score", "--in", "rollout", "--reward", "long=expr:len(answer) % 7 / 7.0"},
	{"group", "--in", "score"},
	{"curate", "--in", "group"},
}

// TestEveryVersionIsReadable reads and verifies the datasets of each version, and
// scores, groups and curates them again: the rows are the same. With -update it
// rewrites the datasets of this version, and does not change the others.
func TestEveryVersionIsReadable(t *testing.T) {
	if *update {
		writeVersion(t, filepath.Join(versions, schema.Version))
	}
	list, err := os.ReadDir(versions)
	if err != nil || len(list) == 0 {
		t.Fatal("no versions", err)
	}
	for _, version := range list {
		t.Run(version.Name(), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(versions, version.Name()))); err != nil {
				t.Fatal(err)
			}
			before := map[string]*dataset.Dataset{}
			for _, stage := range []string{"rollout", "score", "group", "curate"} {
				before[stage] = verified(t, filepath.Join(dir, stage))
			}
			if got := before["rollout"].Schema; got != version.Name() {
				t.Errorf("the folder has schema %s", got)
			}
			id := before["rollout"].Run.ID
			if r, err := runroot.Open(t.Context(), dir); err != nil || id == "" || r.ID != id {
				t.Errorf("its datasets are of run %q, its root is that of %q, %v", id, r.ID, err)
			}
			for _, words := range later {
				stage, from, to := words[0], filepath.Join(dir, words[2]), filepath.Join(dir, "again", words[0])
				inProcess(t, append([]string{stage, "--in", from, "--out", to}, words[3:]...)...)
				again, was := verified(t, to), before[stage]
				if again.Version == was.Version && again.RowsDigest != was.RowsDigest {
					t.Errorf("%s gives rows %s; it gave %s", stage, again.RowsDigest, was.RowsDigest)
				}
				if again.Run.ID != id {
					t.Errorf("%s is of run %q, was of %q", stage, again.Run.ID, id)
				}
			}
		})
	}
}

func verified(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d.Kind == schema.KindTrajectories {
		verifyHeads(t, d)
	}
	return d
}

// verifyHeads compares the rows digest with the rows read without their payload.
func verifyHeads(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	heads, err := dataset.NewHeadReader[formats.Trajectory](t.Context(), d, d.All())
	if err != nil {
		t.Fatal(err)
	}
	defer heads.Close()
	rows := make([]formats.Trajectory, d.Rows)
	n, err := heads.Read(rows)
	if err != nil {
		t.Fatal(err)
	}
	check := dataset.NewRowCheck(d)
	check.Add(rows[:n])
	if err := check.End(); err != nil {
		t.Fatal(err)
	}
}

func writeVersion(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	run := manifest.Run{ID: "0123456789abcdef0123456789abcdef"}
	spec := manifest.Spec{Stage: "rollout", Version: 1, Run: run, Kind: schema.KindTrajectories,
		Params: map[string]any{"generations": 4, "seed": uint64(1<<53 + 1)}}
	shard, err := shards.Begin(t.Context(), filepath.Join(dir, "rollout"), spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	for group := range randomtest.Trajectories(1,
		randomtest.Options{Groups: 6, Generations: 4, Messages: 4, SampledTokens: 60, PromptTokens: 40, Failures: 0.2, Branches: 0.3}) {
		if err := table.Write(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(runroot.File)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, runroot.File), []byte(`{"format":"rollmill-run/1","id":"`+run.ID+`"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, words := range later {
		inProcess(t, append([]string{words[0], "--in", filepath.Join(dir, words[2]), "--out", filepath.Join(dir, words[0])}, words[3:]...)...)
	}
}

// inProcess runs a command, which must succeed.
func inProcess(t *testing.T, words ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	if code := app().Run(t.Context(), append([]string{"rollmill", "--quiet"}, words...),
		terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Lookup: none}); code != 0 {
		t.Fatalf("%q exits %d:\n%s", words, code, &stderr)
	}
}
