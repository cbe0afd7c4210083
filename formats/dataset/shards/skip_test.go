package shards

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Skipping rows and reading others, over parts, gives the rows that reading all
// gives.
func TestSkippedRows(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		for i := range 3 {
			write(ctx, t, uri, wideSpec(), Options{Shard: i, Of: 3}, 20)
		}
		d := open(t, uri)
		all, err := dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 3))
			r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", dataset.Range{First: 3, Rows: int64(len(all)) - 3})
			if err != nil {
				t.Fatal(err)
			}
			for at := 3; ; {
				n := random.IntN(50)
				if err := r.Skip(int64(n)); errors.Is(err, io.EOF) && n > len(all)-at {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				at += n
				rows := make([]formats.Trajectory, min(len(all)-at, random.IntN(9)))
				if _, err := r.Read(rows); err != nil {
					t.Fatal(err)
				}
				for i := range rows {
					if rows[i].TrajectoryID != all[at].TrajectoryID || rows[i].PayloadDigest != formats.PayloadDigest(&rows[i]) {
						t.Fatalf("row %d is %q, not %q", at, rows[i].TrajectoryID, all[at].TrajectoryID)
					}
					at++
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
