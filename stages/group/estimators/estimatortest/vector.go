package estimatortest

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// vector is a group; Unscaled is what the trainer has when it does not divide.
type vector struct {
	Rewards, Advantages, Unscaled []*float64
	Tokens                        []int32
	Parts                         []string
	Settings                      json.RawMessage // of the estimator; absent for the defaults
}

func (v vector) lengths() (out []group.Length) {
	for _, n := range v.Tokens {
		out = append(out, group.Length{SampledTokens: n})
	}
	for _, part := range v.Parts {
		out = append(out, group.Length{Part: part})
	}
	return out
}

func (v vector) members() []formats.Member {
	out := make([]formats.Member, len(v.Rewards))
	for i, r := range v.Rewards {
		out[i] = formats.Member{Status: outcomes.StatusOK, Reward: r}
		if r == nil {
			out[i].Status = outcomes.StatusFailed
		}
	}
	return out
}

func fill(t *testing.T, e group.Estimator, members []formats.Member, lengths []group.Length) {
	t.Helper()
	g := group.Grouper{Estimator: e, Setup: group.Setup{Tolerance: training.FlatTolerance}}
	if _, err := g.Fill(members, lengths); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, i, k int, got, want *float64) {
	t.Helper()
	switch {
	case got == nil && want == nil:
	case got == nil || want == nil:
		t.Errorf("group %d member %d: has an advantage: %v; the trainer's has: %v", i, k, got != nil, want != nil)
	case math.Abs(*got-*want) > 1e-6*max(1, math.Abs(*want)):
		t.Errorf("group %d member %d: advantage %v, the trainer has %v", i, k, *got, *want)
	}
}

// noise reports whether NeMo-RL's variance of the other members, a difference of squares, is
// rounding noise to six digits: they are nearly equal. There our result differs on purpose.
func noise(compat, estimator string, rewards []*float64, k int) bool {
	if compat != string(group.CompatNemoRL) || estimator != "grpo" {
		return false
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i, r := range rewards {
		if i != k && r != nil {
			low, high = min(low, *r), max(high, *r)
		}
	}
	exact := low == high && (low == 0 || *rewards[k] == low)
	return !exact && high-low < 1e-4*max(math.Abs(low), math.Abs(high))
}
