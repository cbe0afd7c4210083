package curate_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// planned shows a plan: "a +2 from 4 failed".
func planned(t testing.TB, d *dataset.Dataset) string {
	var out []string
	for _, r := range readAll[decision.Planned](t, d, schema.TablePlan) {
		out = append(out, fmt.Sprintf("%s +%d from %d %s", r.ExampleID, r.Generations, r.First, r.Reason))
	}
	return strings.Join(out, ", ")
}

var seldom = []example{
	{"failed", "1 f 0 f"},
	{"gone", "f f f f"},
	{"few", "1 0 0"},
	{"unscored", "1 0 u u"},
	{"never", "0 0 0 0"},
	{"solved", "1 1 1 1"},
	{"nearly", "1 1 1 f"}, // all that is there is solved
	{"even", "1 0 1 0"},
	{"odd", "1 0 0 0"},
	{"tried", "0 0 0 0 0 0 0 f"}, // as often as any example may be
}

// Every reason, and who has none.
func TestPlanRequests(t *testing.T) {
	in := groups(t, "groups", 0, seldom)
	for name, c := range map[string]struct {
		change func(*curate.Options)
		want   string
	}{
		"default": {func(*curate.Options) {}, "failed +2 from 4 failed, gone +4 from 4 failed, few +1 from 3 few, never +4 from 4 flat"},
		"most": {func(o *curate.Options) { o.PlanTable.MaxPerExample = 6 },
			"failed +2 from 4 failed, gone +2 from 4 failed, few +1 from 3 few, never +2 from 4 flat"},
		"generations": {func(o *curate.Options) { o.PlanTable.Generations = 3 }, "failed +1 from 4 failed, gone +2 from 4 failed, never +2 from 4 flat"},
		"budget":      {func(o *curate.Options) { o.PlanTable.Budget = budget(4) }, "failed +2 from 4 failed, gone +2 from 4 failed"},
		"much": {func(o *curate.Options) { o.PlanTable.Budget = budget(16) },
			"failed +2 from 4 failed, gone +4 from 4 failed, few +1 from 3 few, never +4 from 4 flat, even +4 from 4 varied, odd +1 from 4 varied"},
		"none": {func(o *curate.Options) { o.PlanTable.Budget = budget(0) }, ""},
		"nat": {func(o *curate.Options) { o.Compat = curate.CompatNAT },
			"failed +2 from 4 failed, gone +4 from 4 failed, few +1 from 3 few, never +4 from 4 flat"},
	} {
		o := options(in, in+"-"+name)
		c.change(&o)
		_, d := run(t, o)
		if got := planned(t, d); got != c.want && name != "much" {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		} else if name == "much" && (!strings.Contains(got, "even +4 from 4 varied") || strings.Count(got, "varied") != 2) {
			t.Errorf("%s: %s", name, got) // of two that differ equally the seed decides
		}
		check(t, dataset.Verify(t.Context(), d))
	}
}

func budget(n int64) *int64 { return &n }

// What the group was stands in the row.
func TestPlanRow(t *testing.T) {
	in := groups(t, "groups", 3, seldom)
	_, d := run(t, options(in, in+"-curate"))
	rows := readAll[decision.Planned](t, d, schema.TablePlan)
	r := rows[0]
	if r.GroupID != "failed@3" || r.Epoch != 3 || r.Count != 4 || r.Valid != 2 || r.Failed != 2 || *r.Solved != 0.5 || *r.StdPop != 0.5 {
		t.Errorf("row %+v", r)
	}
	if r := rows[1]; r.Valid != 0 || r.Solved != nil || r.StdPop != nil {
		t.Errorf("row %+v of a group without rewards", r)
	}
}

// An example that is held out gets no more generations, nor one of another
// epoch that is trained on again.
func TestPlanLeavesOut(t *testing.T) {
	in, old := groups(t, "groups", 1, seldom), groups(t, "old", 0, []example{{"older", "0 f"}})
	held := groups(t, "held", 0, []example{{"failed", "1"}, {"never", "0"}})
	o := options(in, in+"-curate")
	o.OtherEpochs = []stages.Input{{URI: old}}
	ask(o, "holdout", held+"-rollout")
	_, d := run(t, o)
	if got := planned(t, d); got != "gone +4 from 4 failed, few +1 from 3 few" {
		t.Errorf("plan %s", got)
	}
}

// The plan of n shards is that of one, whatever the groups and the budget; it
// keeps to its limits, and to groups that want more.
func TestPlanKeepsToItsLimits(t *testing.T) {
	tries := 0
	rapid.Check(t, func(r *rapid.T) {
		tries++
		n := rapid.IntRange(1, 12).Draw(r, "groups")
		parts := make([][]example, 3)
		failed := map[string]int{}
		for i := range n {
			id := fmt.Sprint("e", i)
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "0.5", "f", "u"}), 1, 6).Draw(r, id)
			failed[id] = strings.Count(strings.Join(words, ""), "f")
			parts[i*3/n] = append(parts[i*3/n], example{id, strings.Join(words, " ")})
		}
		in := groups(t, fmt.Sprint("groups", tries), 0, parts...)
		o := options(in, in+"-curate")
		o.Seed = rapid.Int64().Draw(r, "seed")
		o.PlanTable.Generations = rapid.IntRange(1, 5).Draw(r, "generations")
		o.PlanTable.MaxPerExample = rapid.IntRange(1, 8).Draw(r, "most")
		if rapid.Bool().Draw(r, "limited") {
			o.PlanTable.Budget = budget(rapid.Int64Range(0, 20).Draw(r, "budget"))
		}
		_, d := run(t, o)
		sum := int64(0)
		for _, p := range readAll[decision.Planned](t, d, schema.TablePlan) {
			sum += int64(p.Generations)
			if p.Generations < 1 || int(p.Count+p.Generations) > o.PlanTable.MaxPerExample || p.First != p.Count || int(p.Failed) != failed[p.ExampleID] {
				t.Errorf("%+v under %+v", p, o.PlanTable)
			}
			if (p.Reason == decision.PlanFailed && p.Failed == 0) || (p.Reason == decision.PlanVaried && o.PlanTable.Budget == nil) {
				t.Errorf("%+v", p)
			}
		}
		if o.PlanTable.Budget != nil && sum > *o.PlanTable.Budget {
			t.Errorf("%d are planned of at most %d", sum, *o.PlanTable.Budget)
		}
		o.Out.URI += "-shards"
		for i := range 2 {
			o.Out.Shard = stages.Shard{Index: i, Count: 2}
			_, err := curate.Run(t.Context(), o)
			check(t, err)
		}
		if a, b := d.Tables[schema.TablePlan].RowsDigest, open(t, o.Out.URI).Tables[schema.TablePlan].RowsDigest; a != b {
			t.Errorf("one shard plans %s, two %s", a, b)
		}
	})
}
