package curate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// scatter writes the rows of groups in another order, in so many parts, and
// beside them the groups as group writes such: members in the order of the
// rows, statistics in that of first rows.
func scatter(t testing.TB, in string, parts int, shuffle func(n int, swap func(i, j int))) string {
	t.Helper()
	was := open(t, in)
	base, err := was.OpenBase(t.Context())
	check(t, err)
	rows, members := readAll[formats.Trajectory](t, base, ""), readAll[formats.Member](t, was, "")
	shuffle(len(rows), func(i, j int) {
		rows[i], rows[j] = rows[j], rows[i]
		members[i], members[j] = members[j], members[i]
	})
	out := in + "-scattered"
	for i := range parts {
		s := begin(t, out+"-base", manifest.Spec{Stage: "import", Version: 1, Kind: schema.KindTrajectories}, i, parts)
		check(t, shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows[len(rows)*i/parts:len(rows)*(i+1)/parts]))
		commit(t, s)
	}
	ref := open(t, out+"-base").Ref("base", out)
	s := begin(t, out, manifest.Spec{Stage: "group", Version: was.Version, Kind: schema.KindGroups, Base: &ref, Inputs: []manifest.Ref{ref}}, 0, 1)
	check(t, shards.NewTable[formats.Member](s, "", 0).Write(t.Context(), members))
	stats := readAll[formats.GroupStats](t, was, schema.TableGroups)
	for i := range stats {
		stats[i].FirstRow = int64(slices.IndexFunc(members, func(m formats.Member) bool { return m.GroupID == stats[i].GroupID }))
	}
	slices.SortFunc(stats, func(a, b formats.GroupStats) int { return int(a.FirstRow - b.FirstRow) })
	check(t, shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1).Write(t.Context(), stats))
	_, err = s.Commit(t.Context(), shards.Outcome{State: was.State})
	check(t, err)
	return out
}

// Where the rows of groups lie decides nothing: what is kept, and why the rest
// is not, is the same, in any number of shards and little memory. Kept rows of
// a group lie together.
func TestScattered(t *testing.T) {
	n, dir := 0, t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		n++
		in := spoken(4).write(t, fmt.Sprint("groups-", n), drawPart(rt, "examples"))
		o := drawOptions(rt)
		if o.Compat == curate.CompatNAT {
			o.Compat = curate.CompatNone // NAT breaks ties by place
		}
		o.In.URI, o.Out.URI = in, in+"-curate"
		_, want := run(t, o)

		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1))
		o.In.URI = scatter(t, in, rapid.IntRange(1, 3).Draw(rt, "parts"), rng.Shuffle)
		o.Out.URI = o.In.URI + "-curate"
		o.Spill = stages.Spill{Dir: dir, Memory: int64(rapid.SampledFrom([]int{100, 1 << 20}).Draw(rt, "memory"))}
		shards := rapid.IntRange(1, 3).Draw(rt, "shards")
		for i := range shards {
			o.Out.Shard = stages.Shard{Index: i, Count: shards}
			_, err := curate.Run(t.Context(), o)
			check(t, err)
		}
		got := open(t, o.Out.URI)
		check(t, dataset.Verify(t.Context(), got))
		if got.RowsDigest != want.RowsDigest {
			rt.Fatalf("got %s, want %s", kept(t, got), kept(t, want))
		}
		if diff := cmp.Diff(fates(t, want), fates(t, got)); diff != "" {
			rt.Fatal(diff)
		}
		var groups []string
		for _, r := range readAll[formats.Trajectory](t, got, "") {
			groups = append(groups, r.GroupID)
		}
		if together := slices.Compact(slices.Clone(groups)); len(together) != len(slices.Compact(slices.Sorted(slices.Values(groups)))) {
			rt.Fatalf("kept rows are of groups %v", groups)
		}
	})
}

// fates are the decisions, whatever their order.
func fates(t testing.TB, d *dataset.Dataset) []string {
	return slices.Sorted(strings.SplitSeq(decisions(t, d), ", "))
}

// Members that are not as the statistics say are damage, wherever they lie.
func TestScatteredMembersThatDoNotFit(t *testing.T) {
	for name, change := range map[string]func([]formats.Member){
		"too few":       func(m []formats.Member) { m[2].GroupID = "b@1" },
		"another group": func(m []formats.Member) { m[2].GroupID = "c@1" },
	} {
		base, in := "mem://misfits/rollout-"+strings.Fields(name)[0], "mem://misfits/group-"+strings.Fields(name)[0]
		a, b := example{"a", "1 0"}, example{"b", "1 0"}
		y := recipe{epoch: 1, version: 2}
		rows := []formats.Trajectory{y.rows(a)[0], y.rows(b)[0], y.rows(a)[1], y.rows(b)[1]}
		members := []formats.Member{y.members(a, statistics(a, 1, 0))[0], y.members(b, statistics(b, 1, 1))[0], y.members(a, statistics(a, 1, 0))[1],
			y.members(b, statistics(b, 1, 1))[1]}
		change(members)
		s := begin(t, base, manifest.Spec{Stage: "import", Version: 1, Kind: schema.KindTrajectories}, 0, 1)
		check(t, shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows))
		commit(t, s)
		ref := open(t, base).Ref("base", in)
		s = begin(t, in, manifest.Spec{Stage: "group", Version: 2, Kind: schema.KindGroups, Base: &ref, Inputs: []manifest.Ref{ref}}, 0, 1)
		check(t, shards.NewTable[formats.Member](s, "", 0).Write(t.Context(), members))
		check(t, shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1).
			Write(t.Context(), []formats.GroupStats{statistics(a, 1, 0), statistics(b, 1, 1)}))
		commit(t, s)
		if _, err := curate.Run(t.Context(), options(in, in+"-curate")); err == nil || !strings.Contains(err.Error(), "statistics say") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is about examples cannot be asked of groups of several.
func TestGroupsOfSeveralExamples(t *testing.T) {
	in := groups(t, "groups", 1, []example{{"", "1 0"}})
	o := options(in, in+"-curate")
	run(t, o)
	for _, given := range [][]any{{"pools", true}, {"max-per-example", 1}, {"split", "a=0.5,b=0.5", "take", "a"}} {
		o := options(in, in+"-more")
		ask(o, given...)
		if _, err := curate.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "about examples") {
			t.Errorf("got %v", err)
		}
	}
}
