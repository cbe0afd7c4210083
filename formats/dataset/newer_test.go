package dataset_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
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
	if err := dataset.VerifyRows(t.Context(), d); err != nil {
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

// same compares rows and reports the column that differs.
func same(t *testing.T, got, want []datasettest.Trajectory) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		a, b := reflect.ValueOf(got[i]), reflect.ValueOf(want[i])
		for f := range a.NumField() {
			if !reflect.DeepEqual(a.Field(f).Interface(), b.Field(f).Interface()) {
				t.Fatalf("row %d, %s: %v, want %v", i, a.Type().Field(f).Name, a.Field(f), b.Field(f))
			}
		}
	}
}

// writeAgain writes rows of a dataset with the columns that this version knows.
func writeAgain(t *testing.T, uri string, write func(w *dataset.TableWriter[formats.Trajectory]) error) *dataset.Dataset {
	t.Helper()
	s, err := dataset.Begin(t.Context(), uri, dataset.Spec{Stage: "curate", Version: 1, Kind: formats.KindTrajectories}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := dataset.NewTable[formats.Trajectory](s, "", -1)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), dataset.Outcome{}); err != nil {
		t.Fatal(err)
	}
	return opened(t, uri)
}

func TestColumnsOfANewerVersionAreVerifiedAndCopied(t *testing.T) {
	d, want := newer(t)
	if d.Schema != datasettest.Schema {
		t.Fatal(d.Schema)
	}
	verified(t, d)
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	again := writeAgain(t, filepath.Join(t.TempDir(), "again"), func(w *dataset.TableWriter[formats.Trajectory]) error {
		for i := 0; i < len(rows); i += 4 {
			if err := w.Write(t.Context(), rows[i:i+4]); err != nil {
				return err
			}
		}
		return nil
	})
	same(t, readNewer(t, again), want)
	verified(t, again)
	if again.RowsDigest != d.RowsDigest || len(again.Parts) != 1 {
		t.Errorf("rows digest %s, want %s; %d parts", again.RowsDigest, d.RowsDigest, len(again.Parts))
	}
	if ok, err := dataset.NewPayload(t.Context(), d).Copyable(0, 4); ok || err != nil {
		t.Error("pages of columns that are not known cannot be copied", err)
	}
}

// A column that this version does not know is changed in a file of a newer
// version.
func TestAChangeInAColumnOfANewerVersionIsNoticed(t *testing.T) {
	for name, change := range map[string]func(*datasettest.Trajectory){
		"plain":     func(r *datasettest.Trajectory) { r.Note = nil },
		"list":      func(r *datasettest.Trajectory) { r.Tags[0] = "b" },
		"group":     func(r *datasettest.Trajectory) { r.Origin.Seat++ },
		"in a list": func(r *datasettest.Trajectory) { r.Steps[0].IDs[1]++ },
		"payload":   func(r *datasettest.Trajectory) { r.Screens += "." },
		"nested":    func(r *datasettest.Trajectory) { *r.Messages[1].Certainty++ },
		"volatile":  func(r *datasettest.Trajectory) { r.Host, r.Calls[0].QueueMS = "elsewhere", 7 },
	} {
		t.Run(name, func(t *testing.T) {
			d, rows := newer(t)
			change(&rows[1])
			uri := filepath.Join(t.TempDir(), "changed")
			s, err := dataset.Begin(t.Context(), uri, dataset.Spec{Stage: "rollout", Version: 1, Kind: formats.KindTrajectories}, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := dataset.NewTable[datasettest.Trajectory](s, "", -1)
			if err := w.Write(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(t.Context(), dataset.Outcome{}); err != nil {
				t.Fatal(err)
			}
			changed := opened(t, uri)
			changed.RowsDigest = d.RowsDigest // as if it were the one that was written
			check := dataset.NewRowCheck(changed)
			damaged := false
			for row, err := range dataset.Each[formats.Trajectory](t.Context(), changed, "", changed.All()) {
				if err != nil {
					t.Fatal(err)
				}
				written := row.PayloadDigest
				row.SetPayloadDigest()
				damaged = damaged || row.PayloadDigest != written
				check.Add([]formats.Trajectory{*row})
			}
			if noticed := damaged || check.End() != nil; noticed != (name != "volatile") {
				t.Errorf("noticed: %v", noticed)
			}
		})
	}
}

// Rows of this version and of a newer one are in one table.
func TestRowsOfTwoVersionsInOneTable(t *testing.T) {
	d, want := newer(t)
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	known := make([]formats.Trajectory, 4)
	copy(known, rows[4:8])
	for i := range known {
		known[i].SetUnknown(nil)
	}
	both := writeAgain(t, filepath.Join(t.TempDir(), "both"), func(w *dataset.TableWriter[formats.Trajectory]) error {
		for _, group := range [][]formats.Trajectory{known, rows[:4], known, append(rows[8:10:10], known[:1]...)} {
			if err := w.Write(t.Context(), group); err != nil {
				return err
			}
		}
		return nil
	})
	verified(t, both)
	if len(both.Parts) != 2 {
		t.Errorf("%d parts", len(both.Parts))
	}
	back := readNewer(t, both)
	same(t, back[4:8], want[:4])
	same(t, back[12:14], want[8:10])
	for _, row := range []datasettest.Trajectory{back[0], back[8], back[14]} {
		if row.Note != nil || len(row.Tags) > 0 || row.Messages[1].Certainty != nil || row.Messages[1].Content == "" {
			t.Errorf("%+v", row)
		}
	}
}

func TestAJournalKeepsTheColumnsOfANewerVersion(t *testing.T) {
	d, want := newer(t)
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", dataset.Range{Rows: 4})
	if err != nil {
		t.Fatal(err)
	}
	again := writeAgain(t, filepath.Join(t.TempDir(), "again"), func(w *dataset.TableWriter[formats.Trajectory]) error {
		s, err := dataset.Begin(t.Context(), filepath.Join(t.TempDir(), "journalled"), dataset.Spec{Stage: "rollout", Kind: formats.KindTrajectories},
			dataset.Options{})
		if err != nil {
			return err
		}
		j, err := dataset.OpenJournal[formats.Trajectory](t.Context(), s)
		if err != nil {
			return err
		}
		if err := j.Append(t.Context(), rows); err != nil {
			return err
		}
		for row, err := range j.Rows(t.Context()) {
			if err != nil {
				return err
			}
			if err := w.Write(t.Context(), []formats.Trajectory{*row}); err != nil {
				return err
			}
		}
		return nil
	})
	same(t, readNewer(t, again), want[:4])
}
