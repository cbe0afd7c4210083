package group_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/pairs"
)

// Margin, limit and ties hold within each turn, and repeats within the group.
func TestPairsWithinATurn(t *testing.T) {
	score := func(x float64) *float64 { return &x }
	a := say(0, 1, "u:q", "a:one", "u:and?", "a:two")
	for i, x := range []float64{1, 0.5, 0.5, 0} {
		a.Candidates = append(a.Candidates,
			formats.Candidate{Message: 1, Content: fmt.Sprint("first ", i), Score: score(x)},
			formats.Candidate{Message: 3, Content: fmt.Sprint("second ", i), Score: score(x / 2)})
	}
	b := say(1, 0, "u:q", "a:other") // it says the same as the first turn of the other
	b.Candidates = []formats.Candidate{{Message: 1, Content: "first 0", Score: score(1)}, {Message: 1, Content: "first 3", Score: score(0)}}
	in := conversations(t, "rollout", []formats.Trajectory{a, b})
	for name, c := range map[string]struct {
		pairs.Settings
		want  string
		facts string
	}{
		"limit": {pairs.Settings{Mode: pairs.Exhaustive, Limit: 2}, "0>6 1; 0>2 0.5; 1>7 0.5; 1>3 0.25; 0>1 1", "pairs 5, tie 2, limit 6"},
		"margin": {pairs.Settings{Mode: pairs.Exhaustive, Margin: 0.5}, "0>6 1; 0>2 0.5; 0>4 0.5; 2>6 0.5; 4>6 0.5; 1>7 0.5; 0>1 1",
			"pairs 7, tie 2, margin 4"},
		"top":        {pairs.Settings{Mode: pairs.TopK, Top: 2}, "0>6 1; 1>7 0.5; 0>1 1", "pairs 3, tie 2"},
		"tied top":   {pairs.Settings{Mode: pairs.TopK, Top: 2, Ties: true}, "0>6 1; 2>4 0; 1>7 0.5; 3>5 0; 0>1 1", "pairs 5"},
		"best-worst": {pairs.Settings{Mode: pairs.BestWorst}, "0>6 1; 1>7 0.5; 0>1 1", "pairs 3"},
		"once":       {pairs.Settings{Mode: pairs.BestWorst, Once: true}, "0>6 1; 1>7 0.5", "pairs 2, again 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c.From = pairs.Candidates
			d, _ := pairsOf(t, in, in+"-"+strings.ReplaceAll(name, " ", "-"), c.Settings, group.CompatNone)
			var got, facts []string
			for _, p := range readAll[formats.Pair](t, d, schema.TablePairs) {
				got = append(got, fmt.Sprintf("%d>%d %.3g", p.ChosenIndex, p.RejectedIndex, p.Margin))
			}
			for _, fact := range []string{"pairs", "pairs_tie", "pairs_margin", "pairs_limit", "pairs_again", "pairs_same", "pairs_prompts"} {
				if n := d.Facts[fact]; n > 0 {
					facts = append(facts, fmt.Sprintf("%s %v", strings.TrimPrefix(fact, "pairs_"), n))
				}
			}
			if strings.Join(got, "; ") != c.want || strings.Join(facts, ", ") != c.facts {
				t.Errorf("%s: %s", strings.Join(got, "; "), strings.Join(facts, ", "))
			}
		})
	}
}

// Whatever the rewards: of n members each better one is paired with each worse
// one, however many that are, and those without a reward with nobody.
func TestAllPairs(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		rewards := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1, math.NaN()}), 1, 12).Draw(rt, "rewards")
		var members []formats.Trajectory
		want := map[string]float64{}
		for i, r := range rewards {
			m := say(i, r, "u:q", fmt.Sprint("a:", i))
			if math.IsNaN(r) {
				m.Reward = nil
			}
			members = append(members, m)
			for k, other := range rewards {
				if r > other {
					want[fmt.Sprintf("t%d>t%d", i, k)] = r - other
				}
			}
		}
		in := conversations(t, fmt.Sprint("rollout-", n), members)
		o := options(in, in+"-group")
		o.AllowUnscored, o.Pairs = true, pairs.Settings{Mode: pairs.Exhaustive}
		_, d := run(t, o)
		got := map[string]float64{}
		before := math.Inf(1)
		for _, p := range readAll[formats.Pair](t, d, schema.TablePairs) {
			if p.Margin > before {
				rt.Fatalf("%v after %v", p.Margin, before)
			}
			before = p.Margin
			got[p.ChosenID+">"+p.RejectedID] = p.Margin
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}
