package curate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// compared is groups with all their pairs and labels next to them, as group
// writes them: of scored members, better against worse.
func compared(t *testing.T, epoch int) recipe {
	return recipe{epoch: epoch, version: 2, tables: func(s *shards.Shard, groups [][]formats.Member) {
		pairs := shards.NewTable[formats.Pair](s, schema.TablePairs, -1)
		labels := shards.NewTable[formats.Label](s, schema.TableLabels, -1)
		for _, members := range groups {
			for i := range members {
				a := &members[i]
				if a.Reward == nil {
					continue
				}
				check(t, labels.Write(t.Context(), []formats.Label{{
					TrajectoryID: a.TrajectoryID, ExampleID: a.ExampleID, GroupID: a.GroupID, Epoch: a.Epoch, Generation: a.Generation,
					Desirable: *a.Reward >= 1, Reward: *a.Reward, Prompt: "[]", Completion: fmt.Sprint(a.Generation),
				}}))
				for k := range members {
					if b := &members[k]; b.Reward != nil && *a.Reward > *b.Reward {
						check(t, pairs.Write(t.Context(), []formats.Pair{{
							ExampleID: a.ExampleID, GroupID: a.GroupID, Epoch: a.Epoch, ChosenID: a.TrajectoryID, RejectedID: b.TrajectoryID,
							Margin: *a.Reward - *b.Reward, Prompt: "[]", Chosen: fmt.Sprint(a.Generation), Rejected: fmt.Sprint(b.Generation),
						}}))
					}
				}
			}
		}
	}}
}

// shown returns pairs as "a: 0>2" and labels as "a: +0".
func shown(t *testing.T, d *dataset.Dataset) (pairs, labels string) {
	t.Helper()
	var p, l []string
	for _, x := range readAll[formats.Pair](t, d, schema.TablePairs) {
		p = append(p, fmt.Sprintf("%s%s>%s", x.ExampleID, x.Chosen, x.Rejected))
	}
	for _, x := range readAll[formats.Label](t, d, schema.TableLabels) {
		l = append(l, fmt.Sprintf("%s%s%s", x.ExampleID, x.Completion, map[bool]string{true: "+", false: "-"}[x.Desirable]))
	}
	return strings.Join(p, " "), strings.Join(l, " ")
}

func sideFacts(d *dataset.Dataset) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(d.Facts)) {
		if strings.HasPrefix(name, "pairs") || strings.HasPrefix(name, "labels") || strings.HasSuffix(name, "desirable") {
			out = append(out, fmt.Sprintf("%s %v", name, d.Facts[name]))
		}
	}
	return out
}

func TestPairsAndLabelsOfWhatIsKept(t *testing.T) {
	in := compared(t, 0).write(t, "groups", fiveExamples)
	for name, c := range map[string]struct {
		change        func(*curate.Options)
		pairs, labels string
		facts         []string
		message       string
	}{
		"whole groups": {func(*curate.Options) {}, "a0>2 a0>3 e1>0 e1>3 e1>5 e3>0 e5>0", "a0+ a2- a3- e0- e1+ e3+ e5+",
			[]string{"desirable 4", "labels_dropped.flat 2", "labels_dropped.min_valid 1", "pairs 7", "undesirable 3"},
			"; 7 of 7 pairs kept; 4 desirable, 3 undesirable: KTO weights 1 and 1"},
		"members": {func(o *curate.Options) { ask(*o, "filter", "trajectory.reward != 0 || trajectory.generation == 3") }, "a0>3 e1>3 e1>5",
			"a0+ a3- e1+ e3+ e5+",
			[]string{"desirable 4", "labels_dropped.filter 2", "labels_dropped.flat 2", "labels_dropped.min_valid 1", "pairs 3", "pairs_dropped.filter 4",
				"undesirable 1"},
			"; 3 of 7 pairs kept (dropped: 4 filter); 4 desirable, 1 undesirable: KTO weights 1 and 3"},
		"the best only": {func(o *curate.Options) { ask(*o, "best-of", 1) }, "", "a0+ e1+",
			[]string{"desirable 2", "labels_dropped.best_of 5", "labels_dropped.flat 2", "labels_dropped.min_valid 1", "pairs 0", "pairs_dropped.best_of 7",
				"undesirable 0"},
			"; 0 of 7 pairs kept (dropped: 7 best_of); 2 desirable, 0 undesirable: KTO weights 1 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(in, in+"-"+strings.ReplaceAll(name, " ", "-"))
			c.change(&o)
			r, d := run(t, o)
			check(t, dataset.Verify(t.Context(), d))
			pairs, labels := shown(t, d)
			if pairs != c.pairs || labels != c.labels {
				t.Errorf("pairs %s, labels %s", pairs, labels)
			}
			if diff := cmp.Diff(c.facts, sideFacts(d)); diff != "" {
				t.Error(diff)
			}
			if !strings.HasSuffix(r.Message, c.message) {
				t.Error(r.Message)
			}
		})
	}
}

// Shards and replay carry the same rows, also where a group has more of them
// than are held at a time, and where an epoch has none.
func TestPairsOfShardsAndOfOtherEpochs(t *testing.T) {
	var parts [][]example
	for p := range 3 {
		var part []example
		for i := range 4 {
			part = append(part, example{fmt.Sprint("g", 4*p+i), []string{"0 1 2 3 4 5 6 7 8", "1 1", "f 0.5 1 u", "0 u"}[i]})
		}
		parts = append(parts, part)
	}
	in := compared(t, 3).write(t, "now", parts...)
	old := compared(t, 2).write(t, "old", []example{{"g0", "1 0"}, {"g7", "1 2 3"}})
	none := groups(t, "none", 1, []example{{"g0", "1 0"}})
	o := options(in, in+"-curate")
	o.Seed, o.OtherEpochs = 3, []stages.Input{{URI: old}, {URI: none}}
	ask(o, "sample-trajectories", 0.7)
	_, one := run(t, o)
	o.Out.URI += "-shards"
	for i := range 3 {
		o.Out.Shard = stages.Shard{Index: i, Count: 3}
		_, err := curate.Run(t.Context(), o)
		check(t, err)
	}
	many := open(t, o.Out.URI)
	for _, table := range []string{schema.TablePairs, schema.TableLabels} {
		if a, b := one.Tables[table], many.Tables[table]; a.RowsDigest != b.RowsDigest || a.Rows == 0 {
			t.Errorf("%s: %d rows in one shard, %d in three", table, a.Rows, b.Rows)
		}
	}
	if diff := cmp.Diff(sideFacts(one), sideFacts(many)); diff != "" {
		t.Error(diff)
	}
	kept := map[string]bool{}
	for _, row := range readAll[formats.Trajectory](t, one, "") {
		kept[row.TrajectoryID] = true
	}
	want := 0.0
	for _, uri := range []string{in, old} {
		for _, p := range readAll[formats.Pair](t, open(t, uri), schema.TablePairs) {
			if kept[p.ChosenID] && kept[p.RejectedID] {
				want++
			}
		}
	}
	if one.Facts["pairs"] != want || want < 20 {
		t.Errorf("%v pairs, want %v", one.Facts["pairs"], want)
	}
}

func TestNoSideTables(t *testing.T) {
	in := groups(t, "groups", 0, fiveExamples)
	r, d := run(t, options(in, in+"-curate"))
	if _, pairs := d.Tables[schema.TablePairs]; pairs || sideFacts(d) != nil || strings.Contains(r.Message, "pairs") || d.Params["carried"] != nil {
		t.Errorf("tables %v, facts %v, %q", d.Tables, sideFacts(d), r.Message)
	}
}

// A table whose rows are not where their groups are is damaged.
func TestPairsOutOfOrder(t *testing.T) {
	for name, order := range map[string][]int{"moved": {1, 0}, "of no group": {0, 1, 2}} {
		in := recipe{version: 2, tables: func(s *shards.Shard, groups [][]formats.Member) {
			w := shards.NewTable[formats.Label](s, schema.TableLabels, -1)
			for _, i := range order {
				l := formats.Label{GroupID: "nobody's"}
				if i < len(groups) {
					l = formats.Label{TrajectoryID: groups[i][0].TrajectoryID, GroupID: groups[i][0].GroupID}
				}
				check(t, w.Write(t.Context(), []formats.Label{l}))
			}
		}}.write(t, strings.ReplaceAll(name, " ", "-"), []example{{"a", "0 1"}, {"b", "0 1"}})
		if _, err := curate.Run(t.Context(), options(in, in+"-curate")); err == nil || !strings.Contains(err.Error(), "table _labels: group") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
