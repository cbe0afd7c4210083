package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/plot"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestHistoryHasTheFigures checks that what the report writes is read back: the figure
// and the tables of the viewer are those of the report.
func TestHistoryHasTheFigures(t *testing.T) {
	root := t.TempDir()
	for e := range 3 {
		writeScores(t, fmt.Sprintf("%s/epoch-%d", root, e), [][]*float64{{ptr(1), ptr(0.25 * float64(e)), nil}, {ptr(0.5), nil, nil}})
	}
	writeScores(t, root+"/epoch-1/validation", [][]*float64{{ptr(0.25)}, {ptr(1)}})
	writeScores(t, root+"/epoch-3/validation", [][]*float64{{ptr(0.75)}, {ptr(1)}})
	scoreAgain(t, root+"/epoch-1", "b", 7)
	scoreAgain(t, root+"/epoch-3/validation", "b", 7)
	ctx := context.Background()
	run, err := Make(ctx, Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	b, err := storage.Open(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	epochs, err := history.ReadHistory(ctx, b)
	if err != nil || len(epochs) != 4 {
		t.Fatalf("%d epochs, %v", len(epochs), err)
	}
	for i, want := range run.Epochs {
		got := epochs[i]
		if got.Epoch != want.Epoch || !got.Time.Equal(want.Time) || got.RunID != want.RunID || !reflect.DeepEqual(got.Failures, want.Failures) ||
			got.Cost != want.Cost || !maps.Equal(got.Seconds, want.Seconds) || !maps.Equal(got.Datasets, want.Datasets) {
			t.Errorf("epoch %d: %+v, want %+v", i, got, want)
		}
		for _, s := range []struct{ got, want *history.Sample }{{got.Train, want.Train}, {got.Validation, want.Validation},
			{got.Scores["b"], want.Scores["b"]}, {got.Scores["validation/b"], want.Scores["validation/b"]}} {
			if (s.got == nil) != (s.want == nil) {
				t.Errorf("epoch %d: %+v, want %+v", i, s.got, s.want)
				continue
			}
			if s.got == nil {
				continue
			}
			for _, v := range []struct{ got, want any }{
				{s.got.Mean, s.want.Mean}, {s.got.Min, s.want.Min}, {s.got.Max, s.want.Max}, {s.got.StdErr, s.want.StdErr}, {s.got.Scored, s.want.Scored},
				{s.got.Rewards, s.want.Rewards}, {s.got.RewardStdErrs, s.want.RewardStdErrs}, {s.got.Weights, s.want.Weights},
			} {
				if !reflect.DeepEqual(v.got, v.want) {
					t.Errorf("epoch %d: %+v, want %+v", i, v.got, v.want)
				}
			}
		}
	}
	if f := (history.Run{Epochs: epochs}).AddUp(); len(f.Steps) > 0 || len(f.Unknown) != 1 || f.Unknown[0] != "epochs of which only the report was read: 0-3" {
		t.Errorf("a report has no manifests: %+v", f)
	}
	got, err := plot.RewardView(history.Run{Root: run.Root, Epochs: epochs})
	if err != nil {
		t.Fatal(err)
	}
	if want, err := plot.RewardView(history.Run{Root: run.Root, Epochs: run.Epochs}); err != nil || got != want {
		t.Errorf("the figure shows something else: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, history.File), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := history.ReadHistory(ctx, b); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := os.Remove(filepath.Join(root, history.File)); err != nil {
		t.Fatal(err)
	}
	if _, err := history.ReadHistory(ctx, b); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
