package shards

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
)

func TestEach(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		write(t.Context(), t, uri, wideSpec(), Options{partSize: 1}, 6)
		d := open(t, uri)
		type id struct {
			TrajectoryID string `parquet:"trajectory_id"`
		}
		all, err := dataset.ReadAll[id](t.Context(), d, "", d.All())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []dataset.Range{d.All(), {First: 3, Rows: 7}, {First: 24}} {
			at := r.First
			for row, err := range dataset.Each[id](t.Context(), d, "", r) {
				if err != nil || *row != all[at] {
					t.Fatalf("row %d is %v, want %v: %v", at, row, all[at], err)
				}
				at++
			}
			if at != r.First+r.Rows {
				t.Errorf("rows %d to %d, it ended at %d", r.First, r.First+r.Rows, at)
			}
		}
		for row := range dataset.Each[id](t.Context(), d, "", d.All()) {
			if *row != all[0] {
				t.Error(row)
			}
			break
		}
		failed := 0
		for row, err := range dataset.Each[formats.Pair](t.Context(), d, schema.TablePairs, dataset.Range{Rows: 1}) {
			if failed++; err == nil || row != nil {
				t.Error("a table that is not there has rows")
			}
		}
		if failed != 1 {
			t.Errorf("%d errors", failed)
		}
	})
}
