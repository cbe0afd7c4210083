package estimatortest

import (
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

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
