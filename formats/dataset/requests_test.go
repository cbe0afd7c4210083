package dataset

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/random"
)

// A few columns of a part in an object store take three requests, whatever
// the number of row groups.
func TestPrunedReadsTakeThreeRequestsAPart(t *testing.T) {
	ctx := context.Background()
	uri := "mem://" + t.Name() + "/d"
	s, err := Begin(ctx, uri, wideSpec(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewTable[formats.Trajectory](s, "", -1)
	for rows := range random.Trajectories(1, random.Options{Groups: 1100, Scored: true, SampledTokens: 30, PromptTokens: 20, Messages: 3}) {
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
	d.bucket = d.bucket.WithHook(func(op, key string) error {
		if op == "range" {
			requests.Add(1)
		}
		return nil
	})
	type row struct {
		ExampleID string   `parquet:"example_id,dict"`
		Reward    *float64 `parquet:"reward,optional"`
	}
	rows, err := ReadAll[row](ctx, d, "", d.All())
	if err != nil || len(rows) != 8800 {
		t.Fatal(len(rows), err)
	}
	if n := requests.Load(); n > 3 {
		t.Errorf("%d requests", n)
	}
}
