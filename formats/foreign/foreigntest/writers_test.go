package foreigntest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// Writers write groups of rows as one Parquet file each, an encoding of rows whose
// values our own reader and an independent one (arrow-go) must both return: an error
// in our understanding of the format would not be in both.
type Writers struct {
	Trajectories func(t testing.TB, groups [][]formats.Trajectory) []byte
	Scores       func(t testing.TB, groups [][]formats.Score) []byte
	Members      func(t testing.TB, groups [][]formats.Member) []byte
	GroupStats   func(t testing.TB, groups [][]formats.GroupStats) []byte
	Decisions    func(t testing.TB, groups [][]decision.Decision) []byte
}

// RunWriters writes ordinary, mixed and extreme rows of every kind and reads them with
// both readers. To add a row kind: add a field to Writers and a line here.
func RunWriters(t *testing.T, w Writers) {
	check(t, "trajectories", w.Trajectories, trajectories())
	check(t, "scores", w.Scores, map[string][][]formats.Score{
		"mixed": slices.Collect(randomtest.Scores(5, mixed)), "extreme": extremeScores, "none": nil,
	})
	check(t, "members", w.Members, map[string][][]formats.Member{
		"mixed": slices.Collect(randomtest.Members(5, mixed)), "zero": {make([]formats.Member, 3)}, "none": nil,
	})
	check(t, "group stats", w.GroupStats, map[string][][]formats.GroupStats{"extreme": extremeStats, "none": nil})
	check(t, "decisions", w.Decisions, map[string][][]decision.Decision{
		"mixed": {{{TrajectoryID: "a", Kept: true}, {TrajectoryID: "b", Reason: "flat", Detail: "spread 0"}}}, "none": nil,
	})
}

func check[T any](t *testing.T, kind string, write func(testing.TB, [][]T) []byte, sets map[string][][]T) {
	for name, groups := range sets {
		t.Run(kind+"/"+name, func(t *testing.T) {
			file := write(t, groups)
			rows := slices.Concat(groups...)
			Ours(t, file, rows)
			Arrow(t, file, rows)
		})
	}
}

// Ours reads a file with formats/parquet and compares. A null list and an empty
// one are equal.
func Ours[T any](t testing.TB, file []byte, want []T) {
	t.Helper()
	f, err := parquet.Open(bytes.NewReader(file), int64(len(file)), "file")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[T](f, 0, int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(r)
	if err != nil || len(got) != len(want) {
		t.Fatalf("read %d rows of %d, %v", len(got), len(want), err)
	}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("row %d (-written +read):\n%s", i, diff)
		}
	}
}

func readAll[T any](r *parquet.Reader[T]) ([]T, error) {
	var all []T
	for buf := make([]T, 7); ; {
		clear(buf)
		n, err := r.Read(buf)
		all = append(all, slices.Clone(buf[:n])...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if n == 0 {
			return all, fmt.Errorf("read no rows and no end after row %d", len(all))
		}
	}
}
