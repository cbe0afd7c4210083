package submit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/submit"
)

// paired writes the batch with its first so many pairs next to it.
func paired(t *testing.T, pairs int) string {
	t.Helper()
	uri := filepath.Join(t.TempDir(), "curate")
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, second := shards.NewTable[formats.Trajectory](s, "", -1), shards.NewTable[formats.Pair](s, schema.TablePairs, -1)
	for group := range backendtest.Batch() {
		if err == nil {
			err = rows.Write(t.Context(), group)
		}
	}
	for pair := range backendtest.Tables().Pairs {
		if pairs--; pairs >= 0 && err == nil {
			err = second.Write(t.Context(), []formats.Pair{pair})
		}
	}
	if err == nil {
		_, err = s.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func toFiles(t *testing.T, in, ledger string, kinds ...string) submit.Options {
	t.Helper()
	out := filepath.Join(t.TempDir(), "submit")
	b := bucket(t, out)
	tr, err := file.New(file.Config{Kinds: kinds},
		backends.Place{URI: "files", Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }, Read: b.Read})
	if err != nil {
		t.Fatal(err)
	}
	return submit.Options{In: stages.Input{URI: in}, Out: out, Receipt: b, Ledger: bucket(t, ledger), Trainer: tr, Run: "run"}
}

// TestPairsAreOfTheBatch: the same rows with other pairs are another batch for
// who uses them, and the same one for who does not.
func TestPairsAreOfTheBatch(t *testing.T) {
	all, some, ledger := paired(t, 9), paired(t, 7), filepath.Join(t.TempDir(), "ledger")
	lines := func(o submit.Options, attached bool) int {
		t.Helper()
		if result := completes(t, o); result.Attached != attached {
			t.Errorf("attached %v", result.Attached)
		}
		data, err := os.ReadFile(filepath.Join(o.Out, "trl-preference.jsonl"))
		if err != nil && !attached {
			t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
	if n := lines(toFiles(t, all, ledger, "trl-preference"), false); n != 9 {
		t.Errorf("%d lines of 9 pairs", n)
	}
	if n := lines(toFiles(t, some, ledger, "trl-preference"), false); n != 7 {
		t.Errorf("%d lines of 7 pairs", n)
	}
	lines(toFiles(t, all, ledger, "trl-preference"), true)
	ignored := toFiles(t, all, ledger, "trl-preference")
	ignored.IgnoreTables = true
	if n := lines(ignored, false); n != 3 {
		t.Errorf("%d lines of three groups' best and worst", n)
	}
	if result := completes(t, toFiles(t, all, ledger, "trl-sft")); result.Attached {
		t.Error("attached to other files")
	}
	if result := completes(t, toFiles(t, some, ledger, "trl-sft")); !result.Attached {
		t.Error("conversations are not made of pairs, and were sent twice")
	}
}

// TestADamagedTable: it is told by its part, and nothing is submitted.
func TestADamagedTable(t *testing.T) {
	in, ledger := paired(t, 9), filepath.Join(t.TempDir(), "ledger")
	parts, err := filepath.Glob(filepath.Join(in, schema.TablePairs, "*.parquet"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	if err := os.Truncate(parts[0], 100); err != nil {
		t.Fatal(err)
	}
	o := toFiles(t, in, ledger, "trl-preference")
	if _, err := submit.Run(t.Context(), o); err == nil || !strings.Contains(fmt.Sprint(err), "the part has 100 bytes") {
		t.Error(err)
	}
	if files, _ := filepath.Glob(o.Out + "/*"); files != nil {
		t.Errorf("%v", files)
	}
}
