package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/datasettest"
)

// TestNewerSchemaIsReadOnly looks at a dataset with columns that this version does not
// know. Nothing is made of it, because they would be lost.
func TestNewerSchemaIsReadOnly(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if _, err := datasettest.Newer(t.Context(), at("rollout"), 6); err != nil {
		t.Fatal(err)
	}
	inProcess(t, "audit", "--in", at("rollout"))
	inProcess(t, "show", at("rollout"))
	inProcess(t, "export", "--in", at("rollout"), "--to", "chat", "--out", at("chat.jsonl"), "--lossy")
	inProcess(t, "export", "--in", at("rollout"), "--to", "rows", "--out", at("rows.jsonl"), "--lossy")
	for _, words := range [][]string{
		{"score", "--in", at("rollout"), "--out", at("score"), "--reward", "long=expr:len(answer) % 7 / 7.0"},
		{"group", "--in", at("rollout"), "--out", at("group")},
		{"submit", "--in", at("rollout"), "--backend", "file", "--kinds", "trl-sft", "--out", at("files")},
	} {
		code, _, stderr := inProcessJSON(t.Context(), words)
		if code != 4 || !strings.Contains(stderr, "it has schema "+datasettest.Schema) || !strings.Contains(stderr, "upgrade rollmill") {
			t.Errorf("%s exits %d: %s", words[0], code, stderr)
		}
	}
	code, _, stderr := inProcessJSON(t.Context(), []string{"export", "--in", at("rollout"), "--to", "rows", "--out", at("more.jsonl")})
	if code != 4 || !strings.Contains(stderr, "columns of a newer schema") {
		t.Errorf("export exits %d: %s", code, stderr)
	}
}
