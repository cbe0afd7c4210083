package shards

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// Mean and deviation of the rewards of each group, over thin rows on disk.
func BenchmarkGroupScan(b *testing.B) {
	ctx := context.Background()
	uri := filepath.Join(b.TempDir(), "scores")
	s, err := Begin(ctx, uri, manifest.Spec{Stage: "score", Kind: schema.KindScores}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := NewTable[formats.Score](s, "", 0)
	for rows := range randomtest.Scores(1, randomtest.Options{Groups: 32768}) {
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
	from := busy(b)
	for b.Loop() {
		var spread float64
		err := dataset.Groups(ctx, d, "", d.All(), func(r *row) string { return r.ExampleID }, func(_ int64, group []row) error {
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
	b.ReportMetric(float64(rows)/(busy(b)-from)/1e6, "Mrows/cpu-s")
}

// busy returns the processor time of the process in seconds.
func busy(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// A rollout in 256 shards made one part, compared with a plain copy of its files.
func BenchmarkCompact(b *testing.B) {
	ctx, dir := context.Background(), b.TempDir()
	uri := filepath.Join(dir, "rollout")
	const shards = 256
	for i := range shards {
		s, err := Begin(ctx, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, Options{Shard: i, Of: shards})
		if err != nil {
			b.Fatal(err)
		}
		w := NewTable[formats.Trajectory](s, "", -1)
		for g := range 2 {
			if err := w.Write(ctx, randomtest.Group(1, 2*i+g, randomtest.Options{Generations: 8, SampledTokens: 8000, PromptTokens: 2000, Messages: 8})); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := s.Commit(ctx, Outcome{}); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(uri)); err != nil {
		b.Fatal(err)
	}
	copied := time.Since(began).Seconds()
	data, err := os.ReadFile(filepath.Join(uri, manifest.FileName))
	if err != nil {
		b.Fatal(err)
	}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(d.Bytes)
	from := busy(b)
	for b.Loop() {
		now, err := Compact(ctx, d, partBytes)
		if err != nil || len(now.PartsOf("")) > 2 {
			b.Fatal(len(now.PartsOf("")), err)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(uri, manifest.FileName), data, 0o666),
			os.Remove(filepath.Join(uri, now.PartsOf("")[0].Name))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(d.Bytes)*float64(b.N)/(busy(b)-from)/1e6, "MB/cpu-s")
	b.ReportMetric(float64(d.Bytes)/1e6/copied, "cp-MB/s")
	b.ReportMetric(float64(d.Bytes)/1e6, "MB")
}
