package shards

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// Reading a few columns of a part in an object store takes three requests,
// whatever the number of row groups.
func TestPrunedReadsTakeThreeRequestsAPart(t *testing.T) {
	ctx := context.Background()
	uri := memory(t) + "/d"
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 1100, Scored: true, SampledTokens: 30, PromptTokens: 20, Messages: 3}) {
		if err := w.Write(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(ctx, Outcome{}); err != nil {
		t.Fatal(err)
	}
	d := open(t, uri)
	if n := len(d.Parts[0].RowGroups); len(d.Parts) != 1 || n < 3 {
		t.Fatalf("%d parts, %d row groups", len(d.Parts), n)
	}
	var requests atomic.Int64 // they may be made at once
	d.Bucket = d.Bucket.WithHook(func(op, key string) error {
		if op == "range" {
			requests.Add(1)
		}
		return nil
	})
	type row struct {
		ExampleID string   `parquet:"example_id,dict"`
		Reward    *float64 `parquet:"reward,optional"`
	}
	rows, err := dataset.ReadAll[row](ctx, d, "", d.All())
	if err != nil || len(rows) != 8800 {
		t.Fatal(len(rows), err)
	}
	if n := requests.Load(); n > 3 {
		t.Errorf("%d requests", n)
	}
}

// A part that fits into what is read for its footer takes one request, and none
// for its size.
func TestASmallPartTakesOneRequest(t *testing.T) {
	d, asked := smallPart(t, s3test.Start(t).URI("small/d"))
	if err := readIDs(t, d); err != nil {
		t.Fatal(err)
	}
	if got := asked(); !slices.Equal(got, []string{"open", "range"}) {
		t.Errorf("asked for %q", got)
	}
}

// Without a request for the size, a part that is gone or has another size is
// still reported as such.
func TestReplacedPartIsReported(t *testing.T) {
	for _, c := range []struct {
		change func(*dataset.Dataset) error
		want   string
	}{
		{func(d *dataset.Dataset) error { return d.Bucket.Delete(t.Context(), d.Parts[0].Name) }, "the part is gone"},
		{func(d *dataset.Dataset) error { return d.Bucket.Write(t.Context(), d.Parts[0].Name, make([]byte, 20)) }, "the part has 20 bytes; the manifest says "},
		{func(d *dataset.Dataset) error {
			return d.Bucket.Write(t.Context(), d.Parts[0].Name, make([]byte, 1<<20))
		}, "the part has 1048576 bytes; the manifest says "},
	} {
		d, _ := smallPart(t, s3test.Start(t).URI("changed/d"))
		if err := c.change(d); err != nil {
			t.Fatal(err)
		}
		if err := readIDs(t, d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %q", err, c.want)
		}
	}
}

func smallPart(t *testing.T, uri string) (d *dataset.Dataset, asked func() []string) {
	t.Helper()
	s, err := Begin(t.Context(), uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 4, SampledTokens: 30, PromptTokens: 20, Messages: 3}) {
		if err := w.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), Outcome{}); err != nil {
		t.Fatal(err)
	}
	d = open(t, uri)
	var mu sync.Mutex
	var ops []string
	d.Bucket = d.Bucket.WithHook(func(op, key string) error {
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, op)
		return nil
	})
	return d, func() []string { mu.Lock(); defer mu.Unlock(); return ops }
}

func readIDs(t *testing.T, d *dataset.Dataset) error {
	type row struct {
		ExampleID string `parquet:"example_id,dict"`
	}
	_, err := dataset.ReadAll[row](t.Context(), d, "", d.All())
	return err
}
