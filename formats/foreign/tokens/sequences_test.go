package tokens_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/tokens"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// sequencesOf exports rows as sequences.
func sequencesOf(t *testing.T, rows []formats.Trajectory) (text []byte, out []map[string]any) {
	t.Helper()
	var b bytes.Buffer
	sink := trainers.Sequences.Lines(&b)
	for i := range rows {
		if err := sink.Give(&exporters.Item{Rows: rows[i : i+1], Skip: func(reason string) { t.Error(reason) }}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b.Bytes()) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"trajectory_id", "example_id", "group_id", "generation", "messages"} { // import gives them anew
			delete(row, name)
		}
		out = append(out, row)
	}
	return b.Bytes(), out
}

// TestRoundTrip: sequences that were exported, imported and exported again are the same: ids, masks,
// logprobs, versions and rewards.
func TestRoundTrip(t *testing.T) {
	var rows []formats.Trajectory
	for _, group := range slices.Collect(randomtest.Trajectories(5, randomtest.Options{Groups: 20, Generations: 3, SampledTokens: 30, PromptTokens: 20, Scored: true})) {
		rows = append(rows, group...)
	}
	rows = slices.DeleteFunc(rows, func(r formats.Trajectory) bool { return r.Status != "ok" })
	text, want := sequencesOf(t, rows)
	o := importers.Options{Map: map[string]string{"response_mask": "loss_mask", "response_logprobs": "logprobs"}}
	var again []formats.Trajectory
	for p, err := range foreigntest.All(tokens.Importer, importers.File{Name: "f.jsonl", R: bytes.NewReader(text), Size: int64(len(text)), Options: &o}) {
		if err != nil || p.Err != nil || len(p.Losses) > 0 {
			t.Fatal(err, p.Err, p.Losses)
		}
		again = append(again, p.Items[0].Row)
	}
	_, got := sequencesOf(t, again)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 {
		t.Errorf("of %d sequences: %s", len(want), diff)
	}
}
