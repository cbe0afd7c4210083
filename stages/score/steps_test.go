package score_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestReturnsOfSteps: the shaped rewards of a weightless reward, or of stored
// scores, become returns that take their place; how it is run does not matter.
func TestReturnsOfSteps(t *testing.T) {
	const in = "mem://returns/rollout"
	base(t, in, trajectories())
	steps := "moves*0=command:" + words("shaped") // k for the k-th sampled message
	run(t, options(t, in, "mem://returns/steps", "moves=command:"+words("shaped")))
	stored, _ := rows(t, "mem://returns/steps")
	run(t, options(t, in, "mem://returns/first", steps, "back=returns:of=moves,gamma=0.5", "won=expr:1", "far*2=returns:of=won,gamma=0.9,at=end"))
	run(t, options(t, "mem://returns/steps", "mem://returns/second", "back*2=returns:gamma=0.5"))
	first, _ := rows(t, "mem://returns/first")
	second, _ := rows(t, "mem://returns/second")
	seen := 0
	for i, s := range stored {
		if !score.Scorable(s.Status) {
			continue
		}
		n := len(s.ShapedRewards)
		back, want, twice := make([]float64, n+1), make([]float64, n), make([]float64, n)
		for k := n - 1; k >= 0; k-- {
			back[k] = float64(k) + 0.5*back[k+1]
			want[k], twice[k] = back[k]+2*math.Pow(0.9, float64(n-1-k)), 2*back[k]
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !slices.EqualFunc(first[i].ShapedRewards, want, near) || !near(*first[i].Reward, want[0]+1) {
			t.Errorf("row %d: %v and %v, want %v", i, *first[i].Reward, first[i].ShapedRewards, want)
		}
		if !slices.EqualFunc(second[i].ShapedRewards, twice, near) || !near(*second[i].Reward, 1+twice[0]) {
			t.Errorf("row %d of stored steps: %v and %v, want %v", i, *second[i].Reward, second[i].ShapedRewards, twice)
		}
		seen = max(seen, n)
	}
	if seen < 2 {
		t.Fatalf("the longest trajectory has %d steps", seen)
	}

	specs := []string{steps, "back=returns:of=moves,gamma=0.25"}
	anew := run(t, options(t, in, "mem://returns/anew", specs...))
	for i := range 4 {
		o := options(t, in, "mem://returns/sharded", specs...)
		o.Concurrency, o.BatchRows, o.Out.Shard = 8, 5, stages.Shard{Index: i, Count: 4}
		if r := run(t, o); r.Sealed && r.RowsDigest != anew.RowsDigest {
			t.Error("four shards give other rows")
		}
	}
	run(t, options(t, in, "mem://returns/old", steps, "back=returns:of=moves,gamma=0.5"))
	if got := again(t, in, "mem://returns/old", "mem://returns/changed", []string{"changed"}, specs...); got.RowsDigest != anew.RowsDigest {
		t.Error("--only changed with another gamma gave other rows than scoring anew")
	}
}

// TestReturnsNeedTheirSteps before a row is read.
func TestReturnsNeedTheirSteps(t *testing.T) {
	const in = "mem://no-steps/rollout"
	base(t, in, trajectories())
	run(t, options(t, in, "mem://no-steps/scores", "moves=command:"+words("shaped")))
	for want, o := range map[string]score.Options{
		`trajectories without scores have no shaped rewards`: options(t, in, "mem://no-steps/a", "g=returns:gamma=0.9"),
		`the shaped rewards of "moves" are not kept`:         options(t, "mem://no-steps/scores", "mem://no-steps/b", "g=returns:of=moves"),
		`no reward "later" is computed before this one`:      options(t, in, "mem://no-steps/c", "g=returns:of=later", "later=expr:1"),
	} {
		_, err := score.Run(t.Context(), o)
		var staged *fault.Error
		if !errors.As(err, &staged) || staged.Kind != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %q", err, want)
		}
	}
	// Replaced, the stored sum is no longer that of the rewards there are.
	run(t, options(t, "mem://no-steps/scores", "mem://no-steps/replaced", "moves*0=expr:1", "g*0=returns:gamma=0.9", "one=expr:1"))
	got, _ := rows(t, "mem://no-steps/replaced")
	for _, s := range got {
		if score.Scorable(s.Status) && (s.ShapedRewards != nil || !strings.Contains(s.Rewards[1].Error, "no shaped rewards are stored")) {
			t.Fatalf("%+v", s)
		}
	}
}
