package curate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/random"
	"github.com/rollmill/rollmill/stages/curate"
)

// BenchmarkCurate keeps about 30 % of the groups of a wide dataset on disk,
// rows of 28 kB in groups of 8, ROLLMILL_BENCH_ROWS of them (1,600 unless
// set): go test -run xxx -bench Curate -benchtime 3x ./stages/curate
func BenchmarkCurate(b *testing.B) {
	rows := 1600
	if n, err := strconv.Atoi(os.Getenv("ROLLMILL_BENCH_ROWS")); err == nil {
		rows = n
	}
	in := randomGroups(b, rows/8)
	b.ReportAllocs()
	n, kept := 0, int64(0)
	for b.Loop() {
		n++
		o := options(in, filepath.Join(filepath.Dir(in), fmt.Sprint("curate-", n)))
		o.Curriculum = curate.Curriculum{Enabled: true}
		r, _ := run(b, o)
		kept = r.Rows
	}
	b.ReportMetric(float64(kept)*float64(b.N)/b.Elapsed().Seconds(), "kept/s")
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func randomGroups(b *testing.B, n int) string {
	o := random.Options{Groups: n}
	base := filepath.Join(b.TempDir(), "rollout")
	uri := filepath.Join(filepath.Dir(base), "group")
	s := begin(b, base, dataset.Spec{Stage: "rollout", Version: 1, Kind: formats.KindTrajectories}, 0, 1)
	w := dataset.NewTable[formats.Trajectory](s, "", -1)
	for rows := range random.Trajectories(1, o) {
		check(b, w.Write(b.Context(), rows))
	}
	commit(b, s)
	ref := open(b, base).Ref("base", uri)
	s = begin(b, uri, dataset.Spec{Stage: "group", Version: 1, Kind: formats.KindGroups, Base: &ref, Inputs: []dataset.Ref{ref}}, 0, 1)
	members := dataset.NewTable[formats.Member](s, "", 0)
	stats := dataset.NewTable[formats.GroupStats](s, formats.TableGroups, -1)
	first := int64(0)
	for rows := range random.Members(1, o) {
		least, most := *rows[0].Reward, *rows[0].Reward
		mean := 0.0
		for _, m := range rows {
			least, most, mean = min(least, *m.Reward), max(most, *m.Reward), mean+*m.Reward/8
		}
		check(b, members.Write(b.Context(), rows))
		check(b, stats.Write(b.Context(), []formats.GroupStats{{
			GroupID: rows[0].GroupID, ExampleID: rows[0].ExampleID, FirstRow: first, Count: 8, Valid: 8, Mean: &mean, Min: &least, Max: &most,
		}}))
		first += 8
	}
	commit(b, s)
	return uri
}
