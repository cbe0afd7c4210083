package group_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/storage"
)

// BenchmarkGroup groups thin rows on disk, groups of 8, ROLLMILL_BENCH_ROWS of
// them (100,000 unless set): go test -bench Group -benchtime 3x ./stages/group
func BenchmarkGroup(b *testing.B) { benchmarkGroup(b, false) }

// BenchmarkScattered is BenchmarkGroup with the rows of a group far from each other.
func BenchmarkScattered(b *testing.B) { benchmarkGroup(b, true) }

func benchmarkGroup(b *testing.B, scattered bool) {
	rows := 100_000
	if n, err := strconv.Atoi(os.Getenv("ROLLMILL_BENCH_ROWS")); err == nil {
		rows = n
	}
	scores := thin(b, b.TempDir(), rows, scattered)
	b.ReportAllocs()
	for b.Loop() {
		o := options(scores, filepath.Join(b.TempDir(), "group"))
		if _, err := group.Run(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// thin writes scores beside a base whose payload is next to nothing.
func thin(b testing.TB, root string, rows int, scattered bool) string {
	b.Helper()
	ctx := context.Background()
	base, scores := storage.Join(root, "rollout"), storage.Join(root, "score")
	s := must(shards.Begin(ctx, base, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{}))
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	thin := make([]formats.Score, 0, rows)
	for chunk := range rows / 8 {
		wide := make([]formats.Trajectory, 8)
		for i := range wide {
			g, k := chunk, i
			if at := chunk*8 + i; scattered {
				g, k = at%(rows/8), at/(rows/8)
			}
			id := fmt.Sprintf("example-%07d", g)
			wide[i] = formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", id, 0, k), ExampleID: id, Generation: int32(k), Status: outcomes.StatusOK}
			r := float64((g*7+k*3)%11) / 10
			sc := formats.Score{TrajectoryID: wide[i].TrajectoryID, ExampleID: id, Generation: int32(k), Status: outcomes.StatusOK, Reward: &r}
			sc.Rewards = []formats.NamedReward{{Name: "solved", Value: &r, Weight: 1}}
			thin = append(thin, sc)
		}
		if err := w.Write(ctx, wide); err != nil {
			b.Fatal(err)
		}
	}
	must(s.Commit(ctx, shards.Outcome{}))
	ref := must(dataset.Open(ctx, base, dataset.OpenOptions{})).Ref("base", scores)
	s = must(shards.Begin(ctx, scores, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Base: &ref, Inputs: []manifest.Ref{ref}},
		shards.Options{}))
	v := shards.NewTable[formats.Score](s, "", 0)
	for i := 0; i < len(thin); i += 8 {
		if err := v.Write(ctx, thin[i:i+8]); err != nil {
			b.Fatal(err)
		}
	}
	must(s.Commit(ctx, shards.Outcome{}))
	return scores
}

// BenchmarkFill is the arithmetic alone.
func BenchmarkFill(b *testing.B) {
	a, _ := estimators.GRPO.Make(estimators.GRPO.New(), group.Setup{Compat: group.CompatNone})
	g := group.Grouper{Estimator: a, Setup: group.Setup{Tolerance: training.FlatTolerance, Solved: 1}}
	rewards := []float64{0.1, 0.7, 1, 0, 0.3, 0.3, 0.9, 0.2}
	members := make([]formats.Member, len(rewards))
	for i := range members {
		members[i].Reward = &rewards[i]
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Fill(members, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(8*b.N)/b.Elapsed().Seconds(), "rows/s")
}
