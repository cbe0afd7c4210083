package curate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// TestFunnel draws epochs and options and holds every result to its promises:
// each input row has one decision, kept and drops add up, what is kept was
// scored, and neither the order of the groups nor shards matter.
func TestFunnel(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		part := rapid.SliceOfN(rapid.Custom(draw), 1, 12).Draw(rt, "groups")
		for i := range part {
			part[i].id = fmt.Sprintf("e%d", i)
		}
		o := drawOptions(rt)
		name := fmt.Sprint("groups-", n)
		in := groups(t, name, 1, part)
		o.In.URI, o.Out.URI = in, in+"-curate"
		r, d := run(t, o)
		rows := 0
		for _, e := range part {
			rows += len(strings.Fields(e.rewards))
		}
		all := readAll[formats.Decision](t, d, formats.TableDecisions)
		if len(all) != rows || r.Rows+sum(r.Drops) != int64(rows) || r.Counts["kept"] != r.Rows || r.Counts["dropped"] != sum(r.Drops) {
			rt.Fatalf("%d input rows, %d decisions, %d kept, drops %v", rows, len(all), r.Rows, r.Drops)
		}
		drops := map[string]int64{}
		for _, x := range all {
			if x.Kept != (x.Reason == "") || !x.Kept && !slices.Contains(formats.DropReasons, x.Reason) {
				rt.Fatalf("decision %+v", x)
			}
			if !x.Kept {
				drops[x.Reason]++
			}
		}
		for reason, n := range r.Drops {
			if drops[reason] != n {
				rt.Fatalf("%d decisions say %s, the manifest counts %d", drops[reason], reason, n)
			}
		}
		left := r.Funnel[len(r.Funnel)-1]
		if left.TrajectoriesLeft != r.Rows || left.GroupsLeft != int64(d.Facts["groups_kept"]) {
			rt.Fatalf("%d rows in %v groups are kept, the funnel ends with %+v", r.Rows, d.Facts["groups_kept"], left)
		}
		for i, step := range r.Funnel {
			if step.Groups < 0 || step.Trajectories < 0 || i > 0 && r.Funnel[i-1].TrajectoriesLeft-step.Trajectories != step.TrajectoriesLeft {
				rt.Fatalf("funnel %+v", r.Funnel)
			}
		}
		for _, row := range readAll[formats.Trajectory](t, d, "") {
			if row.Reward == nil || row.Status == formats.StatusFailed {
				rt.Fatalf("%s is kept without a reward", row.TrajectoryID)
			}
		}
		if o.Compat == curate.CompatNAT {
			return // which breaks ties by place
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1))
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		cut := rng.IntN(len(part) + 1)
		moved := groups(t, name+"-moved", 1, part[:cut], part[cut:])
		o.In.URI, o.Out.URI = moved, moved+"-curate"
		for i := range 2 {
			o.Out.Shard = stages.Shard{Index: i, Count: 2}
			if _, err := curate.Run(t.Context(), o); err != nil {
				rt.Fatal(err)
			}
		}
		if m := open(t, o.Out.URI); m.RowsDigest != d.RowsDigest {
			rt.Fatalf("in another order and two shards: %s, not %s", kept(t, m), kept(t, d))
		}
	})
}

func draw(t *rapid.T) example {
	word := rapid.SampledFrom([]string{"0", "0", "1", "1", "0.5", "0.55", "f", "u"})
	return example{rewards: strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "rewards"), " ")}
}

func drawOptions(t *rapid.T) curate.Options {
	o := options("", "")
	o.Seed = rapid.Int64().Draw(t, "seed")
	o.Compat = rapid.SampledFrom(curate.Compats).Draw(t, "compat")
	o.KeepFlat = rapid.Bool().Draw(t, "keep flat")
	if o.Compat != curate.CompatNAT {
		o.MinValid = rapid.IntRange(0, 3).Draw(t, "min valid")
	}
	o.Curriculum.Enabled = rapid.Bool().Draw(t, "curriculum")
	o.Curriculum.Ascending = rapid.Bool().Draw(t, "ascending")
	if rapid.Bool().Draw(t, "members too") {
		half := 0.5
		o.SampleTrajectories, o.BestOf = &half, rapid.IntRange(0, 3).Draw(t, "best of")
		o.DropDuplicates, o.NearDuplicates = rapid.Bool().Draw(t, "duplicates"), &half
	}
	if rapid.Bool().Draw(t, "subsample") {
		s := rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "share")
		o.Curriculum.RandomSubsample = &s
	}
	return o
}
