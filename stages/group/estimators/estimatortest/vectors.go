package estimatortest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// Vectors compares an estimator with the results of each trainer's own function
// for the same groups: every file
// testdata/advantages/<estimator>.<compat>.json, of which there is at least
// one. A file holds groups, or batches of groups with named rewards whose
// advantages are final; then the batch's step is done here in the simplest way.
func Vectors(t *testing.T, kind group.EstimatorKind) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "advantages", kind.Name+".*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors of %s: %v", kind.Name, err)
	}
	for _, name := range files {
		compat := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), kind.Name+"."), ".json")
		t.Run("as "+compat, func(t *testing.T) {
			var f file
			data, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(data, &f)
			}
			if err != nil || len(f.Groups) < 150 && len(f.Batches) < 55 {
				t.Fatalf("%d groups, %d batches: %v", len(f.Groups), len(f.Batches), err)
			}
			setup := group.Setup{Compat: group.Compat(compat), Solved: group.DefaultSolvedThreshold, Tolerance: training.FlatTolerance}
			for i, g := range f.Groups {
				members := g.members()
				fill(t, estimator(t, kind, setup, g.Settings), members, g.lengths())
				for k := range members {
					if g.Rewards[k] == nil || !noise(compat, kind.Name, g.Rewards, k) {
						compare(t, i, k, members[k].Advantage, g.Advantages[k])
					}
				}
				if g.Unscaled != nil {
					setup := setup
					setup.NoScale = true
					fill(t, estimator(t, kind, setup, g.Settings), members, g.lengths())
					for k := range members {
						compare(t, i, k, members[k].Advantage, g.Unscaled[k])
					}
				}
			}
			for i, b := range f.Batches {
				b.compare(t, i, estimator(t, kind, setup, nil))
			}
		})
	}
}

type file struct {
	Groups  []vector
	Batches []batch
}

// vector is a group; Unscaled is what the trainer has when it does not divide.
type vector struct {
	Rewards, Advantages, Unscaled []*float64
	Tokens                        []int32
	Parts                         []string
	Settings                      json.RawMessage // of the estimator; absent for the defaults
}

func estimator(t *testing.T, kind group.EstimatorKind, s group.Setup, settings json.RawMessage) group.Estimator {
	t.Helper()
	k := kind.New()
	if settings != nil {
		if err := json.Unmarshal(settings, k); err != nil {
			t.Fatal(err)
		}
	}
	e, err := k.Estimator(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
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

type batch struct {
	Names      []string
	Weights    []float64
	Groups     [][][]float64
	Advantages [][]*float64
}

func (b *batch) members(g int) []formats.Member {
	out := make([]formats.Member, len(b.Groups[g]))
	for i, values := range b.Groups[g] {
		m := &out[i]
		m.Status, m.Reward = outcomes.StatusOK, new(float64)
		for k := range values {
			m.Rewards = append(m.Rewards, formats.NamedReward{Name: b.Names[k], Value: &values[k], Weight: b.Weights[k]})
			*m.Reward += b.Weights[k] * values[k]
		}
	}
	return out
}

func (b *batch) compare(t *testing.T, i int, e group.Estimator) {
	t.Helper()
	var all []formats.Member
	var want []*float64
	for g := range b.Groups {
		members := b.members(g)
		fill(t, e, members, nil)
		for k := range members {
			if x := members[k].Advantage; x != nil {
				members[k].Advantage = new(*x) // the group's memory is reused
			}
		}
		all, want = append(all, members...), append(want, b.Advantages[g]...)
	}
	step := e.Batch
	if (step == nil) == (e.Whiten == nil) {
		t.Fatal("neither a batch's step nor a whitening, or both")
	}
	if step != nil {
		finish(all, *step)
	}
	for k := range all {
		compare(t, i, k, all[k].Advantage, want[k])
	}
}

// finish does the step to all of a batch, which have advantages.
func finish(all []formats.Member, step training.BatchStep) {
	n, mean, shift, squares := float64(len(all)), 0.0, 0.0, 0.0
	of := func(m formats.Member) float64 {
		if step.Of == training.BatchRewards {
			return *m.Reward
		}
		return *m.Advantage
	}
	for _, m := range all {
		mean += of(m) / n
		shift += *m.Advantage / n
	}
	for _, m := range all {
		squares += (of(m) - mean) * (of(m) - mean)
	}
	if step.Sample {
		n--
	}
	std := 0.0
	if n > 0 {
		std = math.Sqrt(squares / n)
	}
	if step.Of == training.BatchNonZero {
		std = 0
		for _, m := range all {
			if *m.Reward != 0 {
				std += 1 / float64(len(all))
			}
		}
	}
	if !step.Center {
		shift = 0
	}
	for _, m := range all {
		if *m.Advantage -= shift; std+step.Epsilon > 0 {
			*m.Advantage /= std + step.Epsilon
		}
	}
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

// noise reports whether NeMo-RL's variance of the other members, a difference
// of squares, is rounding noise to six digits: they are nearly equal. There our
// result differs on purpose.
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
