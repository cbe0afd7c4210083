package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
)

// withAnswers writes groups of one row, each with a page of its own for its answer.
func withAnswers(t testing.TB, rows int) *layout.File {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter[formats.Trajectory](&out)
	for i := range rows {
		reward := float64(i)
		row := formats.Trajectory{TrajectoryID: fmt.Sprint("row ", i), Answer: answerOf(i), Reward: &reward,
			Rewards: []formats.NamedReward{{Name: "length"}}}
		if err := w.Write([]formats.Trajectory{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return opened(t, out.Bytes())
}

func answerOf(row int) string { return strings.Repeat(fmt.Sprintf("%05d", row), 1000+row%7) }

// Strings of rows in use stay as they are, and the memory of others is used again.
func TestStringsAreReused(t *testing.T) {
	f := withAnswers(t, 300)
	for _, texts := range []bool{false, true} {
		r, err := reader.NewReader[formats.Trajectory](f, 0, f.Rows())
		if err != nil {
			t.Fatal(err)
		}
		r.Choose(func(l *layout.Leaf) bool { return !l.Payload && !l.Under([]string{"reward", "rewards"}) })
		var inUse [][]formats.Trajectory
		places := map[*byte]bool{}
		for first := 0; first < 300; first += 10 {
			rows := make([]formats.Trajectory, 10)
			if _, err := r.Read(rows); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				places[unsafe.StringData(rows[i].Answer)] = true
			}
			if inUse = append(inUse, rows); len(inUse) > 3 {
				inUse = inUse[1:]
			}
			before := first + 10 - 10*len(inUse)
			r.Done(int64(before), texts)
			for b, rows := range inUse {
				for i := range rows {
					n := before + 10*b + i
					if rows[i].TrajectoryID != fmt.Sprint("row ", n) || rows[i].Answer != answerOf(n) {
						t.Fatalf("row %d has become %q", n, rows[i].TrajectoryID)
					}
					if rows[i].Reward != nil || rows[i].Rewards != nil {
						t.Fatalf("row %d has columns that were left out", n)
					}
				}
			}
		}
		if texts && len(places) > 100 || !texts && len(places) < 300 {
			t.Errorf("texts %v: 300 answers were in %d places", texts, len(places))
		}
	}
}
