package command_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/storage"
)

// recorded is a batch of which the engine gave the ids of the prompts.
func recorded(yield func([]formats.Trajectory, error) bool) {
	for rows, err := range backendtest.Batch() {
		for i := range rows {
			rows[i].Messages[1].PromptDeltaIDs = []int32{1, 2, 3}
		}
		if !yield(rows, err) {
			return
		}
	}
}

func placeIn(t *testing.T, dir string) backends.Place {
	t.Helper()
	b, err := storage.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return backends.Place{URI: dir, Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }}
}

// TestTheProgramGetsItsForms: the file is whole when the program starts, its
// sequences are those of the batch, and the preflight counted them.
func TestTheProgramGetsItsForms(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ROLLMILL_TEST_TRAINER", t.TempDir())
	tr, err := command.New(command.Config{Words: []string{os.Args[0], "reads", "sequences"}, Forms: []string{"sequences"}, RowWeight: "trajectory"},
		placeIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := tr.Preflight(t.Context(), recorded, func(p backends.Problem) { t.Error(p) })
	if err != nil || stats.Groups != 3 || len(stats.Files) != 1 || stats.Files[0].Sequences.In != 24 || stats.Files[0].Sequences.Tokens != 24 {
		t.Errorf("%+v, %v", stats, err)
	}
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, recorded, func(backends.JobEvent) {})
	if err != nil || out.State != receipts.JobCompleted {
		t.Fatalf("%+v, %v", out, err)
	}
	data, err := os.Open(dir + "/sequences.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	size, _ := data.Stat()
	f, err := parquet.Open(data, size.Size(), "sequences.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[trainers.SequenceRow](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]trainers.SequenceRow, 13)
	if n, _ := r.Read(rows); n != 12 || rows[0].Tokens != 2 || len(rows[0].PromptIDs) != 3 {
		t.Errorf("%d rows: %+v", n, rows[0])
	}
}

// TestEachReceiptHasItsForms: of a run of several epochs, each has a file of its own.
func TestEachReceiptHasItsForms(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("ROLLMILL_TEST_TRAINER", t.TempDir())
	tr, err := command.New(command.Config{Words: []string{os.Args[0], "reads", "sequences"}, Forms: []string{"sequences"}}, placeIn(t, first))
	if err != nil {
		t.Fatal(err)
	}
	moved := tr.Describe().At(placeIn(t, second))
	if moved.Target() != tr.Target() {
		t.Errorf("%+v is another target than %+v", moved.Target(), tr.Target())
	}
	if out, err := moved.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, recorded,
		func(backends.JobEvent) {}); err != nil || out.State != receipts.JobCompleted {
		t.Fatalf("%+v, %v", out, err)
	}
	if here, _ := os.ReadDir(first); len(here) > 0 {
		t.Errorf("%v are beside another receipt", here)
	}
	if _, err := os.Stat(second + "/sequences.parquet"); err != nil {
		t.Error(err)
	}
}

// TestABatchThatAFormCannotHold: sequences need the ids of prompts, so nothing is
// sent.
func TestABatchThatAFormCannotHold(t *testing.T) {
	jobs := t.TempDir()
	t.Setenv("ROLLMILL_TEST_TRAINER", jobs)
	tr, err := command.New(command.Config{Words: []string{os.Args[0]}, Forms: []string{"sequences"}}, placeIn(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	reasons := ""
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { reasons += p.Reason + p.Detail }); err != nil ||
		!strings.Contains(reasons, "no_prompt 12") {
		t.Errorf("%q, %v", reasons, err)
	}
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, backendtest.Batch(), func(backends.JobEvent) {})
	if list, _ := os.ReadDir(jobs); err == nil || !out.Clean || len(list) != 0 {
		t.Errorf("%+v, %v, %d jobs", out, err, len(list))
	}
}

func TestFormsThatAreNotThere(t *testing.T) {
	for want, cfg := range map[string]command.Config{
		"unknown kind \"parquet\"": {Forms: []string{"parquet"}},
		"has no weights":           {Forms: []string{"verl"}, RowWeight: "token"},
		"without a form":           {RowWeight: "token"},
	} {
		cfg.Words = []string{"true"}
		_, err := command.New(cfg, placeIn(t, t.TempDir()))
		var e *command.Error
		if err == nil || !errors.As(err, &e) || !e.Usage || !strings.Contains(err.Error(), want) || strings.Contains(e.Help, "--kinds") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
