package dataset

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/random"
)

// Mean and deviation of the rewards of each group, over thin rows on disk.
func BenchmarkGroupScan(b *testing.B) {
	ctx := context.Background()
	uri := filepath.Join(b.TempDir(), "scores")
	s, err := Begin(ctx, uri, Spec{Stage: "score", Kind: formats.KindScores}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := NewTable[formats.Score](s, "", 0)
	for rows := range random.Scores(1, random.Options{Groups: 32768}) {
		if err := w.Write(ctx, rows); err != nil {
			b.Fatal(err)
		}
	}
	res, err := s.Commit(ctx, Outcome{})
	if err != nil {
		b.Fatal(err)
	}
	type row struct {
		ExampleID string   `parquet:"example_id,dict"`
		Reward    *float64 `parquet:"reward,optional"`
	}
	d, rows := res.Sealed, 0
	busy := func() float64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	from := busy()
	for b.Loop() {
		var spread float64
		err := Groups(ctx, d, "", d.All(), func(r *row) string { return r.ExampleID }, func(_ int64, group []row) error {
			var n, sum, squares float64
			for _, r := range group {
				if r.Reward != nil {
					n, sum, squares = n+1, sum+*r.Reward, squares+*r.Reward**r.Reward
				}
			}
			if n > 0 {
				spread += math.Sqrt(max(0, squares/n-sum*sum/n/n))
			}
			return nil
		})
		if err != nil || spread == 0 {
			b.Fatal(err)
		}
		rows += int(d.Rows)
	}
	b.ReportMetric(float64(rows)/(busy()-from)/1e6, "Mrows/cpu-s")
}
