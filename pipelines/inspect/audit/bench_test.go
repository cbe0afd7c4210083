package audit

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// BenchmarkAudit audits a wide dataset on disk, with all checks and with those of
// light columns.
func BenchmarkAudit(b *testing.B) {
	ctx := context.Background()
	uri := filepath.Join(b.TempDir(), "rollout")
	s, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(1, randomtest.Options{Groups: 400, Scored: true}) {
		if err := w.Write(ctx, rows); err != nil {
			b.Fatal(err)
		}
	}
	res, err := s.Commit(ctx, shards.Outcome{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		Options
	}{
		{"all", Options{URI: uri}},
		{"verify", Options{URI: uri, Only: []string{"damage"}}},
		{"checks", Options{URI: uri, Skip: []string{"damage"}}},
		{"light", Options{URI: uri, Only: []string{"failures", "flat", "singleton", "length"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(res.Sealed.Bytes)
			for b.Loop() {
				if _, err := Run(ctx, c.Options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
