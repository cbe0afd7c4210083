package curate_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// drawAttempts draws groups of examples that occur in other epochs too, and forks of some.
func drawAttempts(t *rapid.T, name string) (part []example) {
	for _, e := range drawPart(t, name) {
		if part = append(part, e); rapid.IntRange(0, 3).Draw(t, name+" forks") == 0 {
			part = append(part, example{e.id + "/x", "1 f 0"})
		}
	}
	return part
}

// versioned writes attempts by several policy versions, of which one is unknown, at a price.
func versioned(epoch int) recipe {
	return recipe{epoch: epoch, version: 2, change: func(row *formats.Trajectory) {
		if v := int64(row.Generation%4) - 2; v < 1 {
			row.PolicyVersion, row.Calls[0].PolicyVersion = &v, &v
		}
		row.PromptTokens, row.CompletionTokens = row.Generation+7, row.Generation*3
	}}
}

// countedPlainly is the table _examples of epochs, with a map.
func countedPlainly(epochs map[int][]example) []decision.ExampleStats {
	type key struct {
		id      string
		version int64
	}
	rewards, stats := map[key][]float64{}, map[key]*decision.ExampleStats{}
	for epoch, part := range epochs {
		for _, e := range withoutForks(part) {
			y := versioned(epoch)
			for g, row := range y.rows(e) {
				k := key{e.id, math.MaxInt64}
				if row.PolicyVersion != nil {
					k.version = *row.PolicyVersion
				}
				s := stats[k]
				if s == nil {
					s = &decision.ExampleStats{ExampleID: e.id, PolicyVersion: row.PolicyVersion}
					stats[k] = s
				}
				s.Attempts++
				s.LastEpoch = max(s.LastEpoch, int32(epoch))
				s.PromptTokens, s.CompletionTokens = s.PromptTokens+int64(row.PromptTokens), s.CompletionTokens+int64(row.CompletionTokens)
				switch m := y.members(e, formats.GroupStats{})[g]; {
				case m.Status == outcomes.StatusFailed:
					s.Failed++
				case m.Reward != nil:
					s.Scored++
					rewards[k] = append(rewards[k], *m.Reward)
					if *m.Reward >= 1 {
						s.Passes++
					}
				}
			}
		}
	}
	var out []decision.ExampleStats
	for k, s := range stats {
		if n := float64(s.Scored); n > 0 {
			s.Mean, s.StdPop = new(float64), new(float64)
			for _, r := range rewards[k] {
				*s.Mean += r / n
			}
			for _, r := range rewards[k] {
				*s.StdPop += (r - *s.Mean) * (r - *s.Mean) / n
			}
			*s.StdPop = math.Sqrt(*s.StdPop)
		}
		out = append(out, *s)
	}
	version := func(s *decision.ExampleStats) int64 {
		if s.PolicyVersion == nil {
			return math.MaxInt64
		}
		return *s.PolicyVersion
	}
	slices.SortFunc(out, func(a, b decision.ExampleStats) int {
		return cmp.Or(cmp.Compare(a.ExampleID, b.ExampleID), cmp.Compare(version(&a), version(&b)))
	})
	return out
}

// near compares but for rounding, and for columns that no test knows.
var near = gocmp.Options{
	gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }),
}

// The table of a chain of epochs is that of a map over all of them, however little memory
// there is, whatever is replayed, and in any number of shards.
func TestExampleCounts(t *testing.T) {
	n := 0
	some(t, 30, func(rt *rapid.T) {
		n++
		o := options("", "")
		o.Spill.Memory = int64(rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(rt, "memory"))
		epochs := map[int][]example{}
		for epoch := range rapid.IntRange(1, 3).Draw(rt, "epochs") {
			epochs[epoch] = drawAttempts(rt, fmt.Sprint("epoch ", epoch))
			o.In.URI = versioned(epoch).write(t, fmt.Sprint("epoch-", n, "-", epoch), epochs[epoch])
			o.Out = stages.Output{URI: o.In.URI + "-curate"}
			_, d := run(t, o)
			check(t, dataset.Verify(t.Context(), d))
			got := readAll[decision.ExampleStats](t, d, schema.TableExamples)
			if diff := gocmp.Diff(countedPlainly(epochs), got, near); diff != "" {
				rt.Fatalf("epoch %d: %s", epoch, diff)
			}
			o.Out.URI += "-shards"
			for i := range 3 {
				o.Out.Shard = stages.Shard{Index: 2 - i, Count: 3}
				_, err := curate.Run(t.Context(), o)
				check(t, err)
			}
			if a, b := d.Tables[schema.TableExamples], open(t, o.Out.URI).Tables[schema.TableExamples]; a.RowsDigest != b.RowsDigest {
				rt.Fatalf("epoch %d: three shards have %d rows, one %d", epoch, b.Rows, a.Rows)
			}
			o.Previous.URI, o.OtherEpochs = d.URI(), []stages.Input{{URI: o.In.URI}}
		}
	})
}

// Skipped attempts do not count. Rewards pass from group's threshold on.
func TestExampleCountsSkippedAndSolved(t *testing.T) {
	y := recipe{params: map[string]any{"solved-threshold": 0.5}, version: 2}
	in := y.write(t, "groups", []example{{"a", "0 0.4 0.5 1"}, {"b", "f s f"}, {"c", "s s"}})
	_, d := run(t, options(in, in+"-curate"))
	rows := readAll[decision.ExampleStats](t, d, schema.TableExamples)
	if len(rows) != 2 || rows[0].Passes != 2 || rows[0].Scored != 4 || rows[1].Attempts != 2 || rows[1].Failed != 2 || rows[1].Mean != nil {
		t.Errorf("%+v", rows)
	}
}

// Huge rewards do not overflow.
func TestExampleCountsOfHugeRewards(t *testing.T) {
	in := groups(t, "groups", 0, []example{{"a", "1.7e308 -1.7e308 1.7e308"}})
	_, d := run(t, options(in, in+"-curate"))
	r := readAll[decision.ExampleStats](t, d, schema.TableExamples)[0]
	if math.IsInf(*r.Mean, 0) || math.IsNaN(*r.Mean) || math.IsInf(*r.StdPop, 0) || math.IsNaN(*r.StdPop) {
		t.Errorf("mean %v, deviation %v", *r.Mean, *r.StdPop)
	}
}
