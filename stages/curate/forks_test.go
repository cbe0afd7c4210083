package curate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/curate"
)

// Groups of forks, of which some lie before other examples' groups.
var forked = []example{
	{"a", "1 f 0 0"}, {"a/t1", "1 0 0"}, {"a/t2", "1 1"},
	{"b", "0 0"}, {"b/t1", "0.2 0.9"},
	{"c", "1 1 0"},
	{"d", "0 0.5 0 0"}, {"d/t1", "f 1 0.5"},
}

func withoutForks(part []example) []example {
	return slices.DeleteFunc(slices.Clone(part), func(e example) bool { return strings.Contains(e.id, "/") })
}

// decided returns the decisions about attempts, or those about forks.
func decided(t *testing.T, d *dataset.Dataset, forks bool) string {
	var out []string
	for _, r := range readAll[decision.Decision](t, d, schema.TableDecisions) {
		if strings.Contains(r.GroupID, "/") == forks {
			out = append(out, fmt.Sprintf("%s%d %v %s %s", r.ExampleID, r.Generation, r.Kept, r.Reason, r.Detail))
		}
	}
	return strings.Join(out, ", ")
}

// What is decided about attempts is the same without forks.
func TestForksAreNoAttempts(t *testing.T) {
	for name, given := range map[string][]any{
		"default":           nil,
		"curriculum":        {"curriculum", true},
		"ascending":         {"curriculum", true, "curriculum-ascending", true, "curriculum-initial", 0.5},
		"pools":             {"pools", true, "pool-easy-share", 0, "pool-hard-share", 0},
		"limit of examples": {"max-per-example", 1},
		"all":               {"curriculum", true, "pools", true, "max-per-example", 1, "random-subsample", 0.5},
	} {
		for _, compat := range curate.Compats {
			var got []string
			for k, part := range [][]example{withoutForks(forked), forked} {
				in := groups(t, fmt.Sprint(name, compat, k), 0, part)
				o := options(in, in+"-curate")
				o.Compat = compat
				ask(o, given...)
				_, d := run(t, o)
				check(t, dataset.Verify(t.Context(), d))
				plan := ""
				for _, r := range readAll[decision.Planned](t, d, schema.TablePlan) {
					plan += fmt.Sprintf("%s +%d from %d %s %d %d, ", r.GroupID, r.Generations, r.First, r.Reason, r.Count, r.Valid)
				}
				got = append(got, fmt.Sprint(decided(t, d, false), "; plan ", plan, compact(d.State)))
			}
			if got[0] != got[1] {
				t.Errorf("%s, compat %s:\nwithout forks %s\nwith them     %s", name, compat, got[0], got[1])
			}
		}
	}
}

// Rules of single groups, of members and of examples judge forks as they judge attempts.
func TestRulesJudgeForks(t *testing.T) {
	in := recipe{version: 2}.write(t, "groups", forked)
	_, d := run(t, options(in, in+"-curate"))
	if got := decided(t, d, true); got != "a20 true  , a21 true  , a22 true  , a20 false flat all rewards are 1, a21 false flat all rewards are 1, "+
		"b20 true  , b21 true  , d20 false failed failed, d21 true  , d22 true  " {
		t.Errorf("forks: %s", got)
	}
	sides := map[string]string{}
	for _, side := range []string{"x", "y"} {
		o := options(in, in+"-"+side)
		ask(o, "split", "x=0.5,y=0.5", "take", side, "keep-flat", true)
		_, d := run(t, o)
		for _, r := range readAll[formats.Trajectory](t, d, "") {
			if was := sides[r.ExampleID]; was != "" && was != side {
				t.Errorf("%s is on both sides", r.ExampleID)
			}
			sides[r.ExampleID] = side
		}
	}
	o := options(in, in+"-budget") // of 3 tokens a trajectory
	ask(o, "token-budget", 15)
	if r, _ := run(t, o); r.Rows > 5 {
		t.Errorf("%d trajectories are kept: forks are trained too", r.Rows)
	}
}
