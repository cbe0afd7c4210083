package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/countingtest"
)

var stores atomic.Int64

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// largeParts is a dataset of parts that are larger than what is read for a
// footer, of so many rows each.
func largeParts(t *testing.T, parts, rows int) *dataset.Dataset {
	t.Helper()
	uri := fmt.Sprintf("mem://%s-%d/d", t.Name(), stores.Add(1))
	spec := manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}
	dice := rand.New(rand.NewPCG(1, 1))
	for i := range parts {
		s, err := shards.Begin(t.Context(), uri, spec, shards.Options{Shard: i, Of: parts})
		check(t, err)
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for e := range rows {
			text := make([]byte, 300<<10)
			for i := range text {
				text[i] = byte(' ' + dice.IntN(90))
			}
			check(t, w.Write(t.Context(), []formats.Trajectory{{TrajectoryID: exampleOf(i*rows + e), ExampleID: exampleOf(i*rows + e),
				Messages: []formats.Message{{Parent: -1, Role: "user", Content: string(text), Call: -1}}}}))
		}
		_, err = s.Commit(t.Context(), shards.Outcome{})
		check(t, err)
	}
	return opened(t, uri)
}

func exampleOf(row int) string { return fmt.Sprintf("ex-%d", row) }

// While a part is read, the rows of those after it are requested, each range
// once and no more than when the parts are read by themselves.
func TestRowsOfTheNextPartsAreFetchedAhead(t *testing.T) {
	const parts, rows = 4, 12
	d := largeParts(t, parts, rows)
	if len(d.Parts) != parts {
		t.Fatalf("%d parts", len(d.Parts))
	}
	bucket := d.Bucket
	var alone, ahead countingtest.Counter
	d.Bucket = alone.Wrap(bucket)
	for i := range int64(parts) {
		_, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", dataset.Range{First: i * rows, Rows: rows})
		check(t, err)
	}
	d.Bucket = ahead.Wrap(bucket)
	r, err := dataset.NewReader[formats.Trajectory](t.Context(), d, "", d.All())
	check(t, err)
	defer r.Close()
	row, n := make([]formats.Trajectory, 1), 0
	for ; ; n++ {
		_, err := r.Read(row)
		if errors.Is(err, io.EOF) {
			break
		}
		if check(t, err); row[0].ExampleID != exampleOf(n) {
			t.Fatalf("row %d is of example %s", n, row[0].ExampleID)
		}
		for i := 1; n == 0 && i < parts; i++ {
			for !r.IsOpen(i) {
				runtime.Gosched()
			}
		}
		if n == rows/2 && r.Begun() != parts-1 {
			t.Errorf("in the middle of the first part, %d of the others are begun", r.Begun())
		}
	}
	if n != parts*rows || r.Begun() > 0 || ahead.Ops("range") != alone.Ops("range") {
		t.Errorf("%d rows of %d; %d parts begun at the end; %d requests, and %d for the parts by themselves", n, parts*rows, r.Begun(), ahead.Ops("range"),
			alone.Ops("range"))
	}
	for _, p := range d.Parts {
		sum := int64(0)
		for _, s := range ahead.Spans(p.Name) {
			sum += s.End - s.First
		}
		if spans := ahead.Spans(p.Name); sum != p.Bytes-4 && sum != p.Bytes || len(spans) != 2 {
			t.Errorf("%s: %d bytes of %d in %d requests", p.Name, sum, p.Bytes, len(spans))
		}
	}
}

// A reader that is closed early closes the parts that it has begun.
func TestPartsBegunAheadAreClosed(t *testing.T) {
	const rows = 3
	d := largeParts(t, 3, rows)
	r, err := dataset.NewReader[formats.Trajectory](t.Context(), d, "", dataset.Range{First: 1, Rows: 2*rows - 2}) // not all of the second, nothing of the third
	check(t, err)
	row := make([]formats.Trajectory, 1)
	_, err = r.Read(row)
	check(t, err)
	for !r.IsOpen(1) {
		runtime.Gosched()
	}
	_, err = r.Read(row)
	check(t, err)
	if r.Begun() != 1 || r.HasBegun(2) {
		t.Errorf("%d parts are begun", r.Begun())
	}
	check(t, r.Close())
	if r.Begun() > 0 || r.Ahead() > 0 {
		t.Errorf("%d parts are begun and %d open after the end", r.Begun(), r.Ahead())
	}
}
