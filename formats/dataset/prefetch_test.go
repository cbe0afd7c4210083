package dataset

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/counting"
)

// largeParts is a dataset of parts that are larger than what is read for a
// footer, of so many rows each.
func largeParts(t *testing.T, uri string, parts, rows int) *Dataset {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, 1))
	for i := range parts {
		s, err := Begin(t.Context(), uri, wideSpec(), Options{Shard: i, Of: parts})
		check(t, err)
		w := NewTable[formats.Trajectory](s, "", -1)
		for e := range rows {
			one := group(i*rows+e, 1)
			text := make([]byte, 300<<10)
			for i := range text {
				text[i] = byte(' ' + dice.IntN(90))
			}
			one[0].Messages[0].Content = string(text)
			check(t, w.Write(t.Context(), one))
		}
		_, err = s.Commit(t.Context(), Outcome{})
		check(t, err)
	}
	return open(t, uri)
}

// While a part is read, the rows of those after it are requested, each range
// once and no more than when the parts are read by themselves.
func TestRowsOfTheNextPartsAreFetchedAhead(t *testing.T) {
	const parts, rows = 4, 12
	d := largeParts(t, memory(t)+"/d", parts, rows)
	if len(d.Parts) != parts {
		t.Fatalf("%d parts", len(d.Parts))
	}
	bucket := d.bucket
	var alone, ahead counting.Counter
	d.bucket = alone.Wrap(bucket)
	for i := range int64(parts) {
		_, err := ReadAll[formats.Trajectory](t.Context(), d, "", Range{i * rows, rows})
		check(t, err)
	}
	d.bucket = ahead.Wrap(bucket)
	r, err := NewReader[formats.Trajectory](t.Context(), d, "", d.All())
	check(t, err)
	defer r.Close()
	row, n := make([]formats.Trajectory, 1), 0
	for ; ; n++ {
		_, err := r.Read(row)
		if errors.Is(err, io.EOF) {
			break
		}
		if check(t, err); row[0].ExampleID != group(n, 1)[0].ExampleID {
			t.Fatalf("row %d is of example %s", n, row[0].ExampleID)
		}
		for i := 1; n == 0 && i < parts; i++ {
			for r.ahead.ready(i) == nil {
				runtime.Gosched()
			}
		}
		if n == rows/2 && len(r.begun) != parts-1 {
			t.Errorf("in the middle of the first part, %d of the others are begun", len(r.begun))
		}
	}
	if n != parts*rows || len(r.begun) > 0 || ahead.Ops("range") != alone.Ops("range") {
		t.Errorf("%d rows of %d; %d parts begun at the end; %d requests, and %d for the parts by themselves", n, parts*rows, len(r.begun), ahead.Ops("range"),
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
	d := largeParts(t, memory(t)+"/d", 3, rows)
	r, err := NewReader[formats.Trajectory](t.Context(), d, "", Range{First: 1, Rows: 2*rows - 2}) // not all of the second, nothing of the third
	check(t, err)
	row := make([]formats.Trajectory, 1)
	_, err = r.Read(row)
	check(t, err)
	for r.ahead.ready(1) == nil {
		runtime.Gosched()
	}
	_, err = r.Read(row)
	check(t, err)
	if _, third := r.begun[2]; len(r.begun) != 1 || third {
		t.Errorf("%d parts are begun", len(r.begun))
	}
	check(t, r.Close())
	if len(r.begun) > 0 || len(r.ahead) > 0 {
		t.Errorf("%d parts are begun and %d open after the end", len(r.begun), len(r.ahead))
	}
}
