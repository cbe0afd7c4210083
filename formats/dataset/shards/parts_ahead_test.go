package shards

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/countingtest"
)

// Many small parts are opened ahead, and the footers that are kept cost nothing
// the second time.
func TestPartsAreOpenedAhead(t *testing.T) {
	const parts = 60
	uri := memory(t) + "/d"
	for i := range parts {
		write(t.Context(), t, uri, wideSpec(), Options{Shard: i, Of: parts}, parts)
	}
	d := open(t, uri)
	rounds := &countingtest.Rounds{Latency: 10 * time.Millisecond}
	d.Bucket = rounds.Wrap(d.Bucket)
	type row struct {
		ExampleID string `parquet:"example_id,dict"`
	}
	read := func() {
		t.Helper()
		if rows, err := dataset.ReadAll[row](t.Context(), d, "", d.All()); err != nil || len(rows) != 4*parts {
			t.Fatal(len(rows), err)
		}
	}
	read()
	atMost(t, rounds, parts, 2*parts) // a stat and a range of each
	d.KeepFooters(parts << 20)
	if err := d.Warm(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	asked := 0
	d.Bucket = d.Bucket.WithHook(func(op, _ string) error {
		if op == "range" {
			asked++
		}
		return nil
	})
	for range 2 {
		read()
	}
	if _, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", dataset.Range{First: 7, Rows: 9}); err != nil || asked > 0 {
		t.Errorf("%d ranges were read again, %v", asked, err)
	}
}
