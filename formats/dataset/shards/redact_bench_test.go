package shards

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
)

// Journalling and writing wide rows, with and without secrets to look for.
func BenchmarkRedaction(b *testing.B) {
	var groups [][]formats.Trajectory
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 32, Generations: 8, Messages: 6, SampledTokens: 400, PromptTokens: 200}) {
		groups = append(groups, rows)
	}
	for _, secrets := range []int{0, 4} {
		b.Run(fmt.Sprintf("secrets=%d", secrets), func(b *testing.B) {
			known := &secret.Set{}
			for i := range secrets {
				known.Add(fmt.Sprint("KEY", i), fmt.Sprintf("sk-%d-0123456789abcdef", i))
			}
			ctx := secret.With(b.Context(), known)
			n := 0
			for b.Loop() {
				s, err := Begin(ctx, filepath.Join(b.TempDir(), fmt.Sprint("out", n)), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, Options{})
				if err != nil {
					b.Fatal(err)
				}
				j, err := journals.Open[formats.Trajectory](ctx, s.Journal())
				if err != nil {
					b.Fatal(err)
				}
				w := NewTable[formats.Trajectory](s, "", -1)
				for _, rows := range groups {
					if err := j.Append(ctx, rows); err != nil {
						b.Fatal(err)
					}
					if err := w.Write(ctx, rows); err != nil {
						b.Fatal(err)
					}
					n += len(rows)
				}
				if _, err := s.Commit(ctx, Outcome{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// Looking for secrets in wide rows alone.
func BenchmarkRedactRows(b *testing.B) {
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 32, Generations: 8, Messages: 6, SampledTokens: 400, PromptTokens: 200}) {
		rows = append(rows, group...)
	}
	known := &secret.Set{}
	for i := range 4 {
		known.Add(fmt.Sprint("KEY", i), fmt.Sprintf("sk-%d-0123456789abcdef", i))
	}
	n := 0
	for b.Loop() {
		secret.Rows(known, rows)
		n += len(rows)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
