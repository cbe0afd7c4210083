package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestTexts reads the texts of rows in an order of their own.
func TestTexts(t *testing.T) {
	e := &epoch{root: t.TempDir()}
	e.write(t, randomtest.Options{Groups: 300, Failures: 0.1, Epoch: 3})
	x := built(t, t.Context(), storage.Join(e.root, "rollout"))
	wanted := []uint32{x.Rows - 1, 0, 700, 1, 250}
	got := map[uint32]bool{}
	if err := Texts(t.Context(), x.From.Base, wanted, func(row uint32, r *Row) {
		if want := e.rows[row]; r.Example != want.Example || r.Answer != want.Answer || got[row] {
			t.Errorf("row %d: %q, %q", row, r.Example, r.Answer)
		}
		got[row] = true
	}, "example", "answer"); err != nil || len(got) != len(wanted) {
		t.Errorf("%d texts, %v", len(got), err)
	}
}

// TestTooManyRows: a dataset of which a list would not fit says what to do.
func TestTooManyRows(t *testing.T) {
	d := &dataset.Dataset{Manifest: manifest.Manifest{Content: manifest.Content{Rows: MaxRows + 1}}}
	_, err := Build(t.Context(), &Sources{Rows: d, Base: d}, func(int64) {})
	if !errors.Is(err, fault.ErrInvalid) || fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), "narrow it") {
		t.Errorf("%v", err)
	}
}
