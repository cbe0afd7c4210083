package score_test

import (
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// BenchmarkRun scores 4,096 stored trajectories of realistic size.
func BenchmarkRun(b *testing.B) {
	benchmark(b, randomtest.Options{Groups: 512, Messages: 20, SampledTokens: 2000}, map[string]string{
		"match": "match:contains,text=the", "expr/answer": "expr:len(answer) < 100", "expr/messages": "expr:len(messages)",
		"behaviour": "behaviour:checks=look", "command": "command:" + words("answer"),
	})
}

// BenchmarkThin scores 131,072 trajectories of some hundred bytes: the columns take most of the time.
func BenchmarkThin(b *testing.B) {
	benchmark(b, randomtest.Options{Groups: 16384, Messages: 3, SampledTokens: 4, PromptTokens: 4, NoTokens: true, Failures: 0.02},
		map[string]string{"expr/answer": "expr:len(answer) % 2"})
}

func benchmark(b *testing.B, rollout randomtest.Options, specs map[string]string) {
	in := b.TempDir() + "/rollout"
	shard, err := shards.Begin(b.Context(), in, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		b.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	for group := range randomtest.Trajectories(1, rollout) {
		if err := table.Write(b.Context(), group); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := shard.Commit(b.Context(), shards.Outcome{}); err != nil {
		b.Fatal(err)
	}
	d, err := dataset.Open(b.Context(), in, dataset.OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for name, spec := range specs {
		b.Run(name, func(b *testing.B) {
			n, written := 0, int64(0)
			for b.Loop() {
				out := fmt.Sprintf("%s/score-%d", b.TempDir(), n)
				o := options(b, in, out, spec)
				o.MaxFailureRate = new(1.0) // behaviour has no total
				run(b, o)
				n++
				_, s := rows(b, out)
				written = s.Bytes
			}
			b.ReportMetric(float64(d.Rows)*float64(n)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(100*float64(written)/float64(d.Bytes), "%bytes")
		})
	}
}
