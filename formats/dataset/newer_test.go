package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

func newer(t *testing.T) (*dataset.Dataset, []datasettest.Trajectory) {
	t.Helper()
	uri := filepath.Join(t.TempDir(), "rollout")
	rows, err := datasettest.Newer(t.Context(), uri, 5)
	if err != nil {
		t.Fatal(err)
	}
	d := opened(t, uri)
	back := readNewer(t, d)
	for i := range back {
		if !reflect.DeepEqual(back[i].Steps, rows[i].Steps) || !reflect.DeepEqual(back[i].Messages[1].Spans, rows[i].Messages[1].Spans) {
			t.Fatalf("row %d was written otherwise: %+v", i, back[i])
		}
	}
	return d, back
}

func opened(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func verified(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Error(err)
	}
	check := dataset.NewRowCheck(d)
	for row, err := range dataset.Each[formats.Trajectory](t.Context(), d, "", d.All()) {
		if err != nil {
			t.Fatal(err)
		}
		check.Add([]formats.Trajectory{*row})
	}
	if err := check.End(); err != nil {
		t.Error(err)
	}
}

func readNewer(t *testing.T, d *dataset.Dataset) []datasettest.Trajectory {
	t.Helper()
	rows, err := dataset.ReadAll[datasettest.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestADatasetOfANewerVersionIsReadAndVerified(t *testing.T) {
	d, want := newer(t)
	if d.Schema != datasettest.Schema {
		t.Fatal(d.Schema)
	}
	verified(t, d)
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if rows[i].TrajectoryID != want[i].TrajectoryID || rows[i].Messages[1].Content != want[i].Messages[1].Content {
			t.Errorf("row %d is %+v", i, rows[i])
		}
	}
	if ok, err := shards.NewPayload(t.Context(), d).Copyable(0, 4); ok || err != nil {
		t.Error("pages of columns that are not known cannot be copied", err)
	}
}

// refused checks the error about a dataset or segment that has columns of a newer version.
func refused(t *testing.T, err error, what string) {
	t.Helper()
	var bad *fault.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), what) || !strings.Contains(fault.HintOf(bad), "upgrade rollmill") {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsMadeOfADatasetOfANewerVersion(t *testing.T) {
	d, _ := newer(t)
	out := filepath.Join(t.TempDir(), "again")
	base := d.Ref("base", out)
	spec := manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories, Base: &base, Inputs: []manifest.Ref{base}}
	_, err := shards.Begin(t.Context(), out, spec, shards.Options{Overwrite: true})
	refused(t, err, "schema "+datasettest.Schema+", and this rollmill writes "+schema.Version)
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written", err)
	}
}

// The rows that a newer version journalled would lose columns in the dataset.
func TestAJournalOfANewerVersionIsRefused(t *testing.T) {
	_, rows := newer(t)
	s, err := shards.Begin(t.Context(), filepath.Join(t.TempDir(), "journalled"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories},
		shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := journals.Open[datasettest.Trajectory](t.Context(), s.Journal())
	if err == nil {
		err = theirs.Append(t.Context(), rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := journals.Open[formats.Trajectory](t.Context(), s.Journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range ours.Rows(t.Context()) {
		break
	}
	refused(t, err, "messages.certainty")
}

// A part of a newer version is changed in a column that this version does not know.
func TestAChangeInAPartOfANewerVersionIsNoticed(t *testing.T) {
	d, _ := newer(t)
	place := filepath.Join(d.URI(), d.Parts[0].Name)
	data, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 1
	if err := os.WriteFile(place, data, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := dataset.Verify(t.Context(), d); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
