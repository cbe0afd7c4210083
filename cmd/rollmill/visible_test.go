package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

const planted = "\x1b]0;owned\a\x1b[2J\u009b31m\u202e\u200b"

// plant inserts terminal control characters into every text of a row, except
// values of closed sets and JSON.
func plant(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			plant(v.Elem(), name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			plant(v.Index(i), name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			plant(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.String:
		closed := []string{"Status", "StopReason", "FailureClass", "Failure", "Role", "FinishReason", "TokenSource"}
		if text := v.String(); !slices.Contains(closed, name) && !json.Valid([]byte(text)) {
			v.SetString(text + planted)
		}
	}
}

// TestControlCharactersAreNeverPrinted checks that no command prints a control
// character from the data, as text or in JSON.
func TestControlCharactersAreNeverPrinted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	at := func(stage string) string { return filepath.Join(dir, "epoch-0", stage) }
	shard, err := shards.Begin(t.Context(), at("rollout"),
		manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"model": planted}}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	id, group := "", ""
	for rows := range randomtest.Trajectories(1,
		randomtest.Options{Groups: 3, Generations: 4, Messages: 5, SampledTokens: 40, PromptTokens: 40, Failures: 0.3, Branches: 0.5}) {
		for i := range rows {
			plant(reflect.ValueOf(&rows[i]).Elem(), "")
			if rows[i].Status == outcomes.StatusOK {
				id, group = rows[i].TrajectoryID, rows[i].Group()
			}
			if rows[i].Status == outcomes.StatusFailed {
				rows[i].Error = "no " + planted
			}
		}
		if err := table.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"score", "--in", at("rollout"), "--reward", "n=expr:generation"},
		{"score", "--in", at("rollout"), "--reward", "n=expr:len(answer)", "--out", at("score-2")},
		{"group", "--in", at("score"), "--pairs", "exhaustive", "--labels"},
		{"curate", "--in", at("group"), "--keep-flat"},
		{"submit", "--in", at("curate"), "--backend", "file", "--kinds", "sft", "--accept-finding", "prompt_ids"},
		{"submit", "--in", at("curate"), "--backend", "file", "--dry-run"},
		{"show", "--in", at("rollout"), "--rows", "50"},
		{"show", "--in", at("rollout"), "--rows", "50", "--failed"},
		{"show", "--in", at("score"), "--rows", "50"},
		{"show", "--in", at("group"), "--rows", "50"},
		{"show", "--in", at("group"), "--table", "_groups"},
		{"show", "--in", at("group"), "--table", "_pairs"},
		{"show", "--in", at("group"), "--table", "_labels"},
		{"show", "--in", at("curate"), "--rows", "50"},
		{"show", "--in", at("curate"), "--table", "_decisions"},
		{"show", "--in", at("group")},
		{"show", "--in", at("group"), "--format", "markdown"},
		{"show", "--in", at("group"), "--format", "json", "--where", "status != 'none'"},
		{"show", "--in", at("group"), "--trajectory", id, "--full"},
		{"show", "--in", at("rollout"), "--trajectory", id, "--format", "markdown"},
		{"show", "--in", at("rollout"), "--trajectory", id, "--format", "json"},
		{"show", "--in", at("group"), "--group", group},
		{"show", "--in", at("rollout"), "--group", group, "--format", "markdown"},
		{"explain", "--in", dir, id},
		{"explain", "--in", dir, planted},
		{"diff", "--a", at("score"), "--b", at("score-2")},
		{"audit", "--in", dir},
		{"report", "--root", dir, "--no-files"},
		{"eval", "--in", at("score")},
		{"prune", "--root", dir, "--keep-epochs", "1"},
		{"job", "list", "--in", at("submit")},
		{"score", "--in", planted, "--reward", planted},
		{"score", "--in", at("rollout") + planted, "--reward", "n=expr:nothing"},
		{"score", "--in", at("rollout"), "--reward", "n=expr:" + planted, "--out", at("score-3")},
		{planted},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			var stdout, stderr bytes.Buffer
			none := func(string) (string, bool) { return "", false }
			code := app().Run(t.Context(), append(append([]string{"rollmill"}, words...), more...),
				terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Lookup: none})
			if strings.HasPrefix(words[0], "s") && more == nil && !strings.Contains(strings.Join(words, ""), planted) {
				t.Logf("%q exits %d: %s", words, code, stderr.String())
			}
			for name, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
				if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
					t.Errorf("%q prints on %s %q", words, name, text[max(0, i-60):min(len(text), i+20)])
				}
			}
		}
	}
}
