package group_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
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
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// place makes names of datasets that no other test of the process has.
var place = func() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("mem://scattered-%d/rollout", n) }
}()

// TB is what testing and rapid share.
type TB interface {
	Helper()
	Context() context.Context
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// stored writes wide rows in this order, so many a row group and part.
func stored(t TB, stage string, rows []formats.Trajectory, parts int) string {
	t.Helper()
	ctx := t.Context()
	uri := place()
	for i := range parts {
		s, err := shards.Begin(ctx, uri, manifest.Spec{Stage: stage, Version: 1, Kind: schema.KindTrajectories}, shards.Options{Shard: i, Of: parts})
		if err != nil {
			t.Fatal(err)
		}
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		if err := w.Write(ctx, slices.Clone(rows[len(rows)*i/parts:len(rows)*(i+1)/parts])); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, shards.Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	return uri
}

// grouped runs every shard and opens the result.
func grouped(t TB, o group.Options, shards int) *dataset.Dataset {
	t.Helper()
	for i := range shards {
		o.Out.Shard = stages.Shard{Index: i, Count: shards}
		if _, err := group.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dataset.Open(t.Context(), o.Out.URI, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func rowsOf[T any](t TB, d *dataset.Dataset, table string) []T {
	t.Helper()
	n := d.Rows
	if table != "" {
		n = d.Tables[table].Rows
	}
	rows, err := dataset.ReadAll[T](t.Context(), d, table, dataset.Range{Rows: n})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// byID is each trajectory's line.
func byID(members []formats.Member) map[string]string {
	out := map[string]string{}
	for _, m := range members {
		text := m.NoAdvantage
		if m.Advantage != nil {
			text = fmt.Sprintf("%x %x", math.Float64bits(*m.Advantage), m.Advantages)
		}
		out[m.TrajectoryID] = m.GroupID + " " + text
	}
	return out
}

// statistics are those of each group, wherever it begins.
func statistics(rows []formats.GroupStats) map[string]formats.GroupStats {
	out := map[string]formats.GroupStats{}
	for _, g := range rows {
		g.FirstRow = 0
		out[g.GroupID] = g
	}
	return out
}

func drawn(t *rapid.T) []formats.Trajectory {
	var rows []formats.Trajectory
	for e := range rapid.IntRange(1, 7).Draw(t, "examples") {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "0.25", "-3", "1e9", "u", "f"}), 1, 6).Draw(t, "rewards")
		of := wide(example{fmt.Sprint("e", e), strings.Join(words, " ")}, rapid.IntRange(0, 1).Draw(t, "epoch"))
		for i := range of {
			of[i].Metadata = rapid.SampledFrom([]string{`{"role":"solver"}`, `{"role":"judge"}`}).Draw(t, "role")
			of[i].Calls = []formats.Call{{Target: true, Tools: -1}}
			for range rapid.IntRange(0, 2).Draw(t, "turns") {
				n := len(of[i].Messages)
				of[i].Messages = append(of[i].Messages,
					formats.Message{Parent: int32(n - 1), Role: "assistant", Sampled: true, Content: rapid.StringMatching("[ab]").Draw(t, "says"), TokenIDs: []int32{1}, Logprobs: []float32{-1}},
					formats.Message{Parent: int32(n), Role: "user", Content: rapid.StringMatching("[xy]").Draw(t, "hears"), Call: -1})
				if of[i].Reward != nil {
					of[i].ShapedRewards = append(of[i].ShapedRewards, float64(rapid.IntRange(-2, 2).Draw(t, "shaped")))
				}
			}
			if r := of[i].Reward; r != nil { // two components whose sum it is
				half, rest := *r/2, *r/2
				of[i].Rewards = []formats.NamedReward{{Name: "a", Value: &half, Weight: 1}, {Name: "b", Value: &rest, Weight: 1}}
			}
		}
		rows = append(rows, of...)
	}
	return rows
}

// However rows lie, in parts, in shards, in what memory: a trajectory has the
// advantage that it has when groups lie together in one part, and a group its
// statistics.
func TestRowOrderDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	names := slices.DeleteFunc(slices.Clone(estimators.All.Names()), func(name string) bool {
		return name == "distill" || name == "rae" // which need scores, and rows in order
	})
	rapid.Check(t, func(t *rapid.T) {
		rows := drawn(t)
		in := stored(t, "import", rows, 1)
		o := options(in, in+"-group")
		o.Estimator.Name, o.AllowUnscored = rapid.SampledFrom(names).Draw(t, "estimator"), true
		want := grouped(t, o, 1)

		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		in = stored(t, "import", rows, rapid.IntRange(1, 4).Draw(t, "parts"))
		o.In.URI, o.Out.URI = in, in+"-group"
		o.Spill = stages.Spill{Dir: dir, Memory: int64(rapid.SampledFrom([]int{64, 1000, 1 << 20}).Draw(t, "memory"))}
		got := grouped(t, o, rapid.IntRange(1, 3).Draw(t, "shards"))

		if diff := cmp.Diff(byID(rowsOf[formats.Member](t, want, "")), byID(rowsOf[formats.Member](t, got, ""))); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(statistics(rowsOf[formats.GroupStats](t, want, schema.TableGroups)),
			statistics(rowsOf[formats.GroupStats](t, got, schema.TableGroups))); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(want.Counts, got.Counts); diff != "" {
			t.Fatal(diff)
		}
		aligned(t, rows, got)
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// aligned holds members to the order of the base, and groups to that of their
// first rows.
func aligned(t TB, rows []formats.Trajectory, d *dataset.Dataset) {
	t.Helper()
	first := map[string]int64{}
	for i, m := range rowsOf[formats.Member](t, d, "") {
		if m.TrajectoryID != rows[i].TrajectoryID {
			t.Fatalf("row %d is of %s, its base's of %s", i, m.TrajectoryID, rows[i].TrajectoryID)
		}
		if _, ok := first[m.GroupID]; !ok {
			first[m.GroupID] = int64(i)
		}
	}
	last := int64(-1)
	for _, g := range rowsOf[formats.GroupStats](t, d, schema.TableGroups) {
		if g.FirstRow != first[g.GroupID] || g.FirstRow <= last {
			t.Fatalf("group %s is said to begin at row %d after %d; its first is %d", g.GroupID, g.FirstRow, last, first[g.GroupID])
		}
		last = g.FirstRow
	}
}

// An example comes again after another, in its part or in the next: as a
// story, with the rows in order.
func TestRepeatedExample(t *testing.T) {
	one, other := wide(example{"a", "1 0 f 1"}, 0), wide(example{"b", "2 2"}, 0)
	rows := slices.Concat(one[:1], other[:1], one[1:3], other[1:], one[3:])
	for parts := 1; parts <= 3; parts++ {
		in := stored(t, "import", rows, parts)
		d := grouped(t, options(in, in+"-group"), parts)
		want := "a0 0.707, b0 0.000, a1 -1.414, a2 failed, b1 0.000, a3 0.707"
		if got := words(rowsOf[formats.Member](t, d, "")); got != want {
			t.Errorf("%d parts:\n got %s\nwant %s", parts, got, want)
		}
		var lines []string
		for _, g := range rowsOf[formats.GroupStats](t, d, schema.TableGroups) {
			lines = append(lines, fmt.Sprintf("%s from %d: %d of %d, %d tokens", g.GroupID, g.FirstRow, g.Valid, g.Count, g.SampledTokens))
		}
		if diff := cmp.Diff([]string{"a@0 from 0: 3 of 4, 34 tokens", "b@0 from 1: 2 of 2, 21 tokens"}, lines); diff != "" {
			t.Error(diff)
		}
		if d.Counts["advantage"] != 5 || d.Counts["failed"] != 1 {
			t.Errorf("%+v", d.Counts)
		}
	}
}

// The record of rollout says that no example is in two shards; one that is cut
// by an edge is noticed all the same.
func TestSliceBeginsInsideGroup(t *testing.T) {
	one := wide(example{"a", "1 0 1 0"}, 0)
	in := stored(t, "rollout", one, 2)
	d := grouped(t, options(in, in+"-group"), 2)
	if got, want := words(rowsOf[formats.Member](t, d, "")), "a0 1.000, a1 -1.000, a2 1.000, a3 -1.000"; got != want {
		t.Errorf("got %s", got)
	}
}

// Preferences and labels of scattered members are those of the same groups
// that lie together, shards or not.
func TestScatteredPreferences(t *testing.T) {
	var rows []formats.Trajectory
	for i := range 9 {
		for k, r := range wide(example{fmt.Sprint("e", i), "1 0 0.5 f u 1"}, 0) {
			r.Calls = []formats.Call{{Target: true, Tools: -1}}
			r.Messages = append(r.Messages,
				formats.Message{Parent: 0, Role: "assistant", Content: fmt.Sprint("answer ", k), Sampled: true, TokenIDs: []int32{1},
					Logprobs: []float32{float32(math.NaN())}})
			rows = append(rows, r)
		}
	}
	results := func(rows []formats.Trajectory, parts, shards int) (preferred, labels []string) {
		in := stored(t, "import", rows, parts)
		o := options(in, in+"-group")
		o.Pairs.Mode, o.Labels = pairs.Exhaustive, true
		o.Spill.Memory = 1 << 12
		d := grouped(t, o, shards)
		for _, p := range rowsOf[formats.Pair](t, d, schema.TablePairs) {
			preferred = append(preferred, fmt.Sprint(p))
		}
		for _, l := range rowsOf[formats.Label](t, d, schema.TableLabels) {
			labels = append(labels, fmt.Sprint(l))
		}
		return preferred, labels
	}
	// Members keep their order, so that ties between pairs fall alike.
	scattered := make([]formats.Trajectory, 0, len(rows))
	for k := range 6 {
		for i := range 9 {
			scattered = append(scattered, rows[i*6+k])
		}
	}
	pairs, labels := results(rows, 1, 1)
	if len(pairs) != 9*5 || len(labels) != 9*4 {
		t.Fatalf("%d pairs, %d labels", len(pairs), len(labels))
	}
	for shards := 1; shards <= 3; shards++ {
		p, l := results(scattered, 3, shards)
		if diff := cmp.Diff(pairs, p); diff != "" {
			t.Errorf("%d shards: %s", shards, diff)
		}
		if diff := cmp.Diff(labels, l); diff != "" {
			t.Errorf("%d shards: %s", shards, diff)
		}
	}
}

// Little memory means many runs on disk, and nothing is left of them: neither
// in the end, nor after an error.
func TestSpilling(t *testing.T) {
	dir := t.TempDir()
	empty := func() {
		t.Helper()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	var rows []formats.Trajectory
	for k := range 4 {
		for i := range 500 {
			rows = append(rows, wide(example{fmt.Sprint("e", i), "1 0 f 1"}, 0)[k])
		}
	}
	in := stored(t, "import", rows, 1)
	var log bytes.Buffer
	o := options(in, in+"-group")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Spill = stages.Spill{Dir: dir, Memory: 16 << 10}
	grouped(t, o, 1)
	m := regexp.MustCompile(`spilled=(\d+)`).FindStringSubmatch(log.String())
	if n := 0; m == nil || must(fmt.Sscan(m[1], &n)) != 1 || n < 10 {
		t.Errorf("the log says %q", log.String())
	}
	empty()

	inf := math.Inf(1)
	rows[234].Reward = &inf
	in = stored(t, "import", rows, 2)
	o.In.URI, o.Out.URI, o.Out.Shard = in, in+"-group", stages.Shard{Count: 2}
	_, err := group.Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "row 234") || !strings.Contains(err.Error(), rows[234].TrajectoryID) {
		t.Errorf("got %v", err)
	}
	empty()
	rows[234].Reward = nil
	in = stored(t, "import", rows, 1)
	o.In.URI, o.Out, o.Spill.Dir = in, stages.Output{URI: in + "-group"}, dir+"/missing"
	if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `missing" is not a folder`) {
		t.Errorf("without the folder: %v", err)
	}
}
