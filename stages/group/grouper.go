package group

import (
	"errors"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/training"
)

// Grouper computes the advantages and statistics of one group after the other.
// It reuses its memory, so it is for one goroutine.
type Grouper struct {
	Estimator Estimator
	Setup

	valid   Valid
	named   components
	rewards []float64
	lengths []Length
	index   []int     // of each valid member
	arena   []float64 // what statistics and members point into
}

// Fill sets Advantage and NoAdvantage of every member of one group and
// returns the group's statistics, all but FirstRow. A failed or unscored
// member is excluded: it is in no sum and no count, and changes no other's
// advantage. Estimator.Steps also sets Advantages and Losses. lengths are those of the members; nil will do
// unless the estimator looks at Lengths, Parts or Steps. A reward that is not finite, and a group without a token
// where lengths count, is a BadMember. So are shaped rewards that are not one a step.
func (g *Grouper) Fill(members []formats.Member, lengths []Length) (formats.GroupStats, error) {
	first := &members[0]
	stats := formats.GroupStats{
		GroupID: first.GroupID, ExampleID: first.ExampleID, Epoch: first.Epoch,
		Count: int32(len(members)), Forks: first.ForkCall != nil,
	}
	if err := g.refuseForks(members); err != nil {
		return stats, err
	}
	for i := range members {
		if members[i].ExampleID != first.ExampleID {
			stats.ExampleID = "" // it has several
			break
		}
	}
	if err := g.collect(members, lengths); err != nil {
		return stats, err
	}
	n := len(g.rewards)
	stats.Valid = int32(n)
	for i := range members {
		switch members[i].NoAdvantage {
		case training.NoAdvantageFailed:
			stats.Failed++
		case training.NoAdvantageUnscored:
			stats.Unscored++
		}
	}
	if n == 0 {
		return stats, nil
	}
	g.valid.Set(g.rewards)
	g.valid.Lengths, g.valid.Forks, g.valid.Tolerance = g.lengths, stats.Forks, g.Tolerance
	err := g.advantages(members)
	g.describe(&stats)
	return stats, err
}

// BadMember is the error of a member, such as one whose reward is NaN or infinite.
type BadMember struct {
	Member        int // its index in the group
	Problem, Hint string
}

func (e *BadMember) Error() string { return e.Problem }

func (g *Grouper) collect(members []formats.Member, lengths []Length) error {
	g.rewards, g.lengths, g.index = g.rewards[:0], g.lengths[:0], g.index[:0]
	tokens := int64(0)
	for i := range members {
		m := &members[i]
		m.Advantage, m.Advantages, m.Losses, m.NoAdvantage = nil, nil, nil, ""
		switch {
		case m.Status == outcomes.StatusFailed || m.Status == outcomes.StatusSkipped:
			m.NoAdvantage = training.NoAdvantageFailed
		case m.Reward == nil:
			m.NoAdvantage = training.NoAdvantageUnscored
		case math.IsNaN(*m.Reward) || math.IsInf(*m.Reward, 0):
			return &BadMember{i, fmt.Sprintf("reward %v is not a finite number", *m.Reward),
				"a reward is a finite number or null; score the trajectories again"}
		default:
			g.rewards = append(g.rewards, *m.Reward)
			g.index = append(g.index, i)
			if lengths != nil {
				g.lengths = append(g.lengths, lengths[i])
				tokens += int64(lengths[i].SampledTokens)
			}
		}
	}
	if g.Estimator.Lengths && tokens == 0 && len(g.index) > 0 {
		return &BadMember{g.index[0], "the estimator needs lengths, and no member of its group has sampled tokens",
			"the engine gave no token ids; use an estimator without lengths"}
	}
	return nil
}

func (g *Grouper) advantages(members []formats.Member) error {
	n := len(g.rewards)
	out, has := g.room(n), true
	if g.Estimator.Components != nil {
		has = g.Estimator.Components(g.named.set(members, g.index, g.Tolerance), out)
	} else if !g.Estimator.Flat && n > 1 && g.valid.Flat() {
		clear(out)
	} else {
		has = g.Estimator.Advantages(&g.valid, out)
	}
	for k, i := range g.index {
		if has && !math.IsNaN(out[k]) {
			members[i].Advantage = &out[k]
		} else {
			members[i].NoAdvantage = training.NoAdvantageSingleton
		}
	}
	if g.Estimator.Steps != nil && has {
		return g.steps(members)
	}
	return nil
}

func (g *Grouper) describe(s *formats.GroupStats) {
	v, n := &g.valid, len(g.rewards)
	solved := 0
	for _, r := range v.Rewards {
		if r >= g.Solved {
			solved++
		}
	}
	f := g.room(7)
	copy(f, []float64{v.Mean, v.StdPop, v.Min, v.Max, Finite(v.Max - v.Min), float64(solved) / float64(n), v.StdSample})
	s.Mean, s.StdPop, s.Min, s.Max, s.Spread, s.Solved = &f[0], &f[1], &f[2], &f[3], &f[4], &f[5]
	if n > 1 {
		s.StdSample = &f[6]
	}
	if s.SolvedCount = int32(solved); s.Forks {
		return // pass@k is of attempts from the start
	}
	s.PassAtK = g.room(min(n, formats.MaxPassAtK))
	none := 1.0 // probability that none of k is solved: formats.PassAtK, for all k in one pass
	for i := range s.PassAtK {
		none = float64(none * (float64(max(0, n-solved-i)) / float64(n-i)))
		s.PassAtK[i] = 1 - none
	}
}

// room returns n floats of its own; one allocation serves hundreds of groups.
func (g *Grouper) room(n int) []float64 {
	if len(g.arena) < n {
		g.arena = make([]float64, 8000+n)
	}
	f := g.arena[:n:n]
	g.arena = g.arena[n:]
	return f
}

// steps gives the steps of valid members their rewards, and the members the advantages
// of their steps.
func (g *Grouper) steps(members []formats.Member) error {
	e := &g.Estimator
	steps, out := make([][]Step, len(g.index)), make([][]Credit, len(g.index))
	for k, i := range g.index {
		m := &members[i]
		steps[k] = g.lengths[k].Steps
		switch n := len(steps[k]); {
		case e.Looks.Branches:
		case m.ShapedRewards != nil && len(m.ShapedRewards) != n:
			return &BadMember{i, fmt.Sprintf("it has %d shaped rewards, and %d messages were sampled", len(m.ShapedRewards), n),
				"shaped rewards are one for each sampled message of the main path; score it again"}
		case m.ShapedRewards == nil && n > 0:
			steps[k][n-1].Reward = *m.Reward
		}
		for s, r := range m.ShapedRewards {
			if !e.Looks.Branches {
				steps[k][s].Reward = r
			}
		}
		out[k] = make([]Credit, len(steps[k]))
		for s := range out[k] {
			if why := steps[k][s].NoState; why != "" {
				return &BadMember{i, fmt.Sprintf("message %d: %s", steps[k][s].Message, why),
					"give every state a value, as in EXPRESSION ?? \"\""}
			}
			out[k][s].Value = *m.Advantage
		}
	}
	if err := e.Steps(&g.valid, steps, out); err != nil {
		var bad *BadMember
		if errors.As(err, &bad) {
			bad.Member = g.index[bad.Member]
		}
		return err
	}
	for k, i := range g.index {
		for s := range out[k] {
			give(&members[i], steps[k][s].Message, &out[k][s])
		}
	}
	return nil
}

// give gives a member the credit of a message.
func give(m *formats.Member, message int32, c *Credit) {
	if c.Value != *m.Advantage || c.Tokens != nil || m.Advantages != nil {
		m.Advantages = append(m.Advantages, training.MessageAdvantage{Message: message, Value: Finite(c.Value), Tokens: c.Tokens})
	}
	for _, l := range c.Losses {
		l.Message = message
		m.Losses = append(m.Losses, l)
	}
}

// refuseForks returns the error of a group of forks that the estimator does not know.
func (g *Grouper) refuseForks(members []formats.Member) error {
	if g.Estimator.Forks || members[0].ForkCall == nil {
		return nil
	}
	return &BadMember{0, "it is a fork, and the estimator compares attempts that began at the start",
		"use --estimator value or tree, or group the rollouts before they were forked"}
}

// compared reports how large a group's advantages are, whether it has any, and whether
// its rewards are equal; in a group of one, whether its advantage is 0.
func (g *Grouper) compared(members []formats.Member, stats *formats.GroupStats) (size training.AdvantageSize, has, flat bool) {
	for i := range members {
		m := &members[i]
		size.Add(m.Advantage, m.Advantages, m.Losses)
		if a := m.Advantage; a != nil {
			has, flat = true, training.Flat(*stats.Min, *stats.Max, g.Tolerance) && (stats.Valid > 1 || *a == 0)
		}
	}
	return size, has, flat
}
