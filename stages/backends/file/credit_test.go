package file_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
)

// TestWhatAFileHasNoPlaceFor: a kind that was named is refused, and without names the others
// are written.
func TestWhatAFileHasNoPlaceFor(t *testing.T) {
	for kind, losses := range map[string]bool{"art": false, "slime": true} {
		var problems []backends.Problem
		tr := trainer(t, file.Config{Kinds: []string{kind, "sequences"}}, place(t, t.TempDir()))
		if _, err := tr.Preflight(t.Context(), stepped(losses), func(p backends.Problem) { problems = append(problems, p) }); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range problems {
			if p.Reason == exporters.MessageCredit {
				found = true
				if !strings.HasPrefix(p.Detail, kind+" has no place for ") || !strings.Contains(p.Hint, "--advantages trajectory") || p.TrajectoryID == "" {
					t.Errorf("%+v", p)
				}
			}
		}
		if !found {
			t.Errorf("%s: %+v", kind, problems)
		}
	}
	with := func(losses bool) backends.Groups { // a batch of which every kind has a row
		return func(yield func([]formats.Trajectory, error) bool) {
			for rows, err := range stepped(losses) {
				if rows[0].ExampleID == "spoken" && !yield(rows, err) {
					return
				}
			}
		}
	}
	for losses, missing := range map[bool][]string{false: {"art.jsonl"}, true: {"art.jsonl", "slime.jsonl"}} {
		dir := t.TempDir()
		tr := trainer(t, file.Config{}, place(t, dir))
		stats, err := tr.Preflight(t.Context(), with(losses), func(p backends.Problem) { t.Errorf("%+v", p) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Submit(t.Context(), backends.Submission{Token: "x"}, with(losses), func(backends.JobEvent) {}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"art.jsonl", "slime.jsonl", "sequences.parquet", "trl-sft.jsonl"} {
			_, err := os.Stat(dir + "/" + name)
			lacks := strings.Contains(strings.Join(missing, " "), name)
			note := strings.Contains(strings.Join(stats.Notes, "\n"), "not written: "+name+": "+strings.TrimSuffix(name, ".jsonl")+" has no place for ")
			if os.IsNotExist(err) != lacks || note != lacks {
				t.Errorf("losses %v, %s: %v, %q", losses, name, err, stats.Notes)
			}
		}
	}
}
