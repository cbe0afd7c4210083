package curate_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
)

// some checks fewer cases than is usual, unless the command says how many:
// each of them writes whole datasets.
func some(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if usual := checks.Value.String(); usual == checks.DefValue {
		check(t, checks.Value.Set(strconv.Itoa(cases)))
		defer func() { check(t, checks.Value.Set(usual)) }()
	}
	rapid.Check(t, property)
}

// TestFunnel draws epochs and options and holds every result to its promises:
// each input row has one decision, kept and drops add up, by reason and by
// rule, what is kept was scored, and neither the order of the groups nor
// shards nor how rows are copied matter.
func TestFunnel(t *testing.T) {
	n := 0
	some(t, 50, func(rt *rapid.T) {
		n++
		name := fmt.Sprint("groups-", n)
		now, old := drawPart(rt, "now"), []example(nil)
		if rapid.Bool().Draw(rt, "replay") {
			old = drawPart(rt, "old")
		}
		o := drawOptions(rt)
		o.Spill.Memory = int64(rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(rt, "memory"))
		write := func(name string, part []example, old []example) {
			o.In.URI, o.OtherEpochs = spoken(2).write(t, name, part), nil
			if old != nil {
				o.OtherEpochs = []stages.Input{{URI: spoken(1).write(t, name+"-old", old)}}
			}
			o.Out.URI = o.In.URI + "-curate"
		}
		if rapid.Bool().Draw(rt, "previous") {
			write(name+"-previous", now, nil)
			epoch := 1
			before := o
			before.Epoch = &epoch
			run(t, before)
			o.Previous.URI = o.Out.URI
		}
		write(name, now, old)
		r, d := run(t, o)
		funnelAddsUp(rt, r, d)
		decisionsAddUp(t, rt, r, d, slices.Concat(now, old))
		if o.Compat == curate.CompatNAT {
			return // which breaks ties by place
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1))
		for _, part := range [][]example{now, old} {
			rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		write(name+"-moved", now, old)
		o.Decode()
		for i := range 2 {
			o.Out.Shard = stages.Shard{Index: i, Count: 2}
			if _, err := curate.Run(t.Context(), o); err != nil {
				rt.Fatal(err)
			}
		}
		m := open(t, o.Out.URI)
		if m.RowsDigest != d.RowsDigest || m.Tables[schema.TableDecisions].RowsDigest != d.Tables[schema.TableDecisions].RowsDigest {
			rt.Fatalf("in another order and two shards: %s, not %s", kept(t, m), kept(t, d))
		}
	})
}

// funnelAddsUp: each step leaves what the one before it left but for what it
// refused, and the last leaves what is kept.
func funnelAddsUp(t *rapid.T, r stages.Report, d *dataset.Dataset) {
	trajectories, groups := r.Rows+sum(r.Drops), int64(d.Facts["groups"])
	for _, step := range r.Funnel {
		trajectories, groups = trajectories-step.Trajectories, groups-step.Groups
		if step.Groups < 0 || step.Trajectories < 0 || step.TrajectoriesLeft != trajectories || step.GroupsLeft != groups {
			t.Fatalf("funnel %+v", r.Funnel)
		}
	}
	if trajectories != r.Rows || groups != int64(d.Facts["groups_kept"]) {
		t.Fatalf("%d rows in %v groups are kept, the funnel ends with %d in %d", r.Rows, d.Facts["groups_kept"], trajectories, groups)
	}
}

// decisionsAddUp: there is one for each row of the input, they say what the
// manifest counts, and what they keep is there.
func decisionsAddUp(t *testing.T, rt *rapid.T, r stages.Report, d *dataset.Dataset, input []example) {
	want := int64(0)
	for _, e := range input {
		want += int64(len(strings.Fields(e.rewards)))
	}
	all := readAll[decision.Decision](t, d, schema.TableDecisions)
	if int64(len(all)) != want || r.Rows+sum(r.Drops) != want || r.Counts["kept"] != r.Rows || r.Counts["dropped"] != sum(r.Drops) {
		rt.Fatalf("%d input rows, %d decisions, %d kept, drops %v", want, len(all), r.Rows, r.Drops)
	}
	drops, keeps := map[string]int64{}, map[string]bool{}
	for _, x := range all {
		if x.Kept != (x.Reason == "") || !x.Kept && !known(x.Reason) {
			rt.Fatalf("decision %+v", x)
		}
		if keeps[x.TrajectoryID] = x.Kept; !x.Kept {
			drops[x.Reason]++
		}
	}
	if len(keeps) != len(all) || fmt.Sprint(drops) != fmt.Sprint(r.Drops) && len(drops)+len(r.Drops) > 0 {
		rt.Fatalf("%d decisions about %d trajectories drop %v, the manifest counts %v", len(all), len(keeps), drops, r.Drops)
	}
	rows := readAll[formats.Trajectory](t, d, "")
	for _, row := range rows {
		if row.Reward == nil || row.Status == outcomes.StatusFailed || !keeps[row.TrajectoryID] {
			rt.Fatalf("%s is there", row.TrajectoryID)
		}
	}
	if int64(len(rows)) != r.Rows {
		rt.Fatalf("%d rows, %d are kept", len(rows), r.Rows)
	}
}

// TestNoExampleIsOnTwoSides of a split, in whatever epochs, shards and
// replays it comes, and each is on one.
func TestNoExampleIsOnTwoSides(t *testing.T) {
	n := 0
	some(t, 20, func(rt *rapid.T) {
		n++
		seed := rapid.Int64().Draw(rt, "seed")
		sides, names := drawSides(rt)
		shards := rapid.IntRange(1, 3).Draw(rt, "shards")
		now, old := drawPart(rt, "now"), drawPart(rt, "old")
		in := spoken(4).write(t, fmt.Sprint("now-", n), now)
		replay := spoken(2).write(t, fmt.Sprint("old-", n), old)
		on := map[string]string{}
		rows := 0
		for _, side := range names {
			for _, more := range [][]stages.Input{nil, {{URI: replay}}} { // the replay joins later
				o := options(in, fmt.Sprint(in, "-", side, len(more)))
				o.MinValid, o.Seed, o.OtherEpochs = 1, seed, more
				ask(o, "keep-flat", true, "split", sides, "take", side)
				for i := range shards {
					o.Out.Shard = stages.Shard{Index: i, Count: shards}
					_, err := curate.Run(t.Context(), o)
					check(t, err)
				}
				for _, row := range readAll[formats.Trajectory](t, open(t, o.Out.URI), "") {
					if was := on[row.ExampleID]; was != "" && was != side {
						rt.Fatalf("%s is in %s and in %s", row.ExampleID, was, side)
					}
					on[row.ExampleID] = side
					rows += len(more)
				}
			}
		}
		want := 0
		for _, e := range slices.Concat(now, old) {
			want += len(slices.DeleteFunc(strings.Fields(e.rewards), func(w string) bool { return w == "f" || w == "u" }))
		}
		if rows != want {
			rt.Fatalf("%d of %d scored trajectories are on a side", rows, want)
		}
	})
}

// drawSides draws a split and the names of its sides.
func drawSides(t *rapid.T) (sides string, names []string) {
	first := rapid.Float64Range(0.1, 0.8).Draw(t, "share")
	if rapid.Bool().Draw(t, "two") {
		return fmt.Sprintf("train=%v,test=%v", first, 1-first), []string{"train", "test"}
	}
	rest := (1 - first) / 2
	return fmt.Sprintf("train=%v,validation=%v,test=%v", first, rest, rest), []string{"train", "validation", "test"}
}

// drawPart draws groups of different examples, some of e0 to e13.
func drawPart(t *rapid.T, name string) []example {
	part := rapid.SliceOfN(rapid.Custom(draw), 1, 10).Draw(t, name)
	first := rapid.IntRange(0, 4).Draw(t, name+" first")
	for i := range part {
		part[i].id = fmt.Sprint("e", first+i)
	}
	return part
}

func draw(t *rapid.T) example {
	word := rapid.SampledFrom([]string{"0", "0", "1", "1", "0.5", "0.55", "f", "u"})
	return example{rewards: strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "rewards"), " ")}
}

// spoken writes trajectories of all lengths, by several policies, some of
// which say the same, or nearly.
func spoken(epoch int) recipe {
	return recipe{epoch: epoch, version: 2, change: func(row *formats.Trajectory) {
		row.Messages[1].Content = []string{"the answer is 4", "the answer is 4", "the answer is 5", "nothing", "no idea"}[row.Generation%5]
		row.SampledTokens = 3 + row.Generation
		policy := int64(row.Generation % 3)
		row.PolicyVersion, row.Calls[0].PolicyVersion = &policy, &policy
		if row.Generation == 3 {
			row.Messages[1].Logprobs = nil
		}
	}}
}

// drawOptions asks for each rule now and then.
func drawOptions(t *rapid.T) curate.Options {
	o := options("", "")
	asked := func(rule string) bool { return rapid.IntRange(0, 3).Draw(t, rule) == 0 }
	share := func(rule string) float64 { return rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, rule+" share") }
	o.Seed = rapid.Int64().Draw(t, "seed")
	o.Compat = rapid.SampledFrom(curate.Compats).Draw(t, "compat")
	ask(o, "keep-flat", rapid.Bool().Draw(t, "keep flat"))
	if o.Compat != curate.CompatNAT {
		o.MinValid = rapid.IntRange(0, 3).Draw(t, "min valid")
	}
	ask(o, "curriculum", asked("curriculum"), "curriculum-ascending", rapid.Bool().Draw(t, "ascending"))
	if asked("subsample") {
		ask(o, "random-subsample", share("subsample"))
	}
	for _, r := range []struct {
		name  string
		given func(rule string) []any
	}{
		{"pools", func(r string) []any {
			return []any{"pools", true, "pool-easy-share", share(r), "pool-hard-share", share(r)}
		}},
		{"split", func(string) []any { return []any{"split", "a=0.5,b=0.5", "take", "a"} }},
		{"groups", func(rule string) []any { return []any{"sample-groups", share(rule)} }},
		{"trajectories", func(rule string) []any { return []any{"sample-trajectories", share(rule)} }},
		{"near", func(rule string) []any { return []any{"drop-near-duplicates", share(rule)} }},
		{"duplicates", func(string) []any { return []any{"drop-duplicates", true} }},
		{"logprobs", func(string) []any { return []any{"check-logprobs", true} }},
		{"images", func(string) []any { return []any{"drop-images", true} }},
		{"length", func(string) []any { return []any{"max-sampled-tokens", 5} }},
		{"messages", func(string) []any { return []any{"min-messages", 2} }},
		{"stale", func(string) []any { return []any{"policy-version", 2, "max-staleness", 1} }},
		{"budget", func(string) []any { return []any{"token-budget", 30} }},
		{"filter", func(string) []any { return []any{"filter", []string{"group.mean < 0.8", "trajectory.reward > 0"}} }},
		{"best of", func(string) []any { return []any{"best-of", 2} }},
		{"per group", func(string) []any { return []any{"max-per-group", 3} }},
		{"per example", func(string) []any { return []any{"max-per-example", 1} }},
	} {
		if asked(r.name) {
			ask(o, r.given(r.name)...)
		}
	}
	return o
}

// known reports whether curate with its rules may drop a trajectory for a reason.
func known(reason string) bool {
	return reason == decision.DropFailed || reason == decision.DropUnscored ||
		slices.ContainsFunc(rules.All.All(), func(k curate.RuleKind) bool { return slices.Contains(k.Reasons, reason) })
}
