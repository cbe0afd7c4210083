package curate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// BenchmarkCurate keeps about 30 % of the groups of wide datasets on disk, with
// ROLLMILL_BENCH_ROWS rows of the larger kind (1,600 unless set):
// go test -run xxx -bench Curate -benchtime 3x ./stages/curate
func BenchmarkCurate(b *testing.B) {
	rows := 1600
	if n, err := strconv.Atoi(os.Getenv("ROLLMILL_BENCH_ROWS")); err == nil {
		rows = n
	}
	b.Run("8x28kB", func(b *testing.B) { benchCurate(b, randomtest.Options{Groups: rows / 8}) })
	b.Run("64x2kB", func(b *testing.B) {
		benchCurate(b, randomtest.Options{Groups: rows / 4, Generations: 64, Messages: 3, SampledTokens: 220, PromptTokens: 140})
	})
}

func benchCurate(b *testing.B, of randomtest.Options) {
	in := randomGroups(b, filepath.Join(b.TempDir(), "group"), of)
	b.ReportAllocs()
	n, kept := 0, int64(0)
	for b.Loop() {
		n++
		o := options(in, filepath.Join(filepath.Dir(in), fmt.Sprint("curate-", n)))
		ask(o, "curriculum", true)
		r, _ := run(b, o)
		kept = r.Rows
	}
	b.ReportMetric(float64(kept)*float64(b.N)/b.Elapsed().Seconds(), "kept/s")
}

// randomGroups groups rows of the generator at uri, in parts of several
// groups, next to the rollouts.
func randomGroups(t testing.TB, uri string, o randomtest.Options) string {
	t.Helper()
	base := uri + "-rollout"
	s := begin(t, base, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"epoch": o.Epoch}}, 0, 1)
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(1, o) {
		check(t, w.Write(t.Context(), rows))
	}
	commit(t, s)
	ref := open(t, base).Ref("base", uri)
	s = begin(t, uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups, Base: &ref, Inputs: []manifest.Ref{ref}}, 0, 1)
	members := shards.NewTable[formats.Member](s, "", 0)
	stats := shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1)
	first := int64(0)
	for rows := range randomtest.Members(1, o) {
		check(t, members.Write(t.Context(), rows))
		check(t, stats.Write(t.Context(), []formats.GroupStats{statisticsOf(rows, first)}))
		first += int64(len(rows))
	}
	commit(t, s)
	return uri
}

func statisticsOf(rows []formats.Member, first int64) formats.GroupStats {
	s := formats.GroupStats{GroupID: rows[0].GroupID, ExampleID: rows[0].ExampleID, Epoch: rows[0].Epoch, FirstRow: first, Count: int32(len(rows))}
	var rewards []float64
	mean := 0.0
	for _, m := range rows {
		if m.Reward != nil {
			rewards = append(rewards, *m.Reward)
			mean += *m.Reward
		}
	}
	if s.Valid = int32(len(rewards)); s.Valid > 0 {
		low, high := slices.Min(rewards), slices.Max(rewards)
		mean /= float64(len(rewards))
		s.Mean, s.Min, s.Max = &mean, &low, &high
	}
	return s
}
