package group

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// group adds a group, whose steps are those of any estimator. Members that a draw leaves out
// count as failed, so that nothing depends on them.
func (c *Comparison) group(members []formats.Member, lengths [][]Length) error {
	if members[0].ForkCall != nil {
		return nil
	}
	c.Groups++
	c.Rows += int64(len(members))
	all := make([]Length, len(members))
	for i := range all {
		var steps []Step
		for _, l := range lengths {
			steps = append(steps, l[i].Steps...)
		}
		slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.Message, b.Message) })
		steps = slices.CompactFunc(steps, func(a, b Step) bool { return a.Message == b.Message })
		for _, s := range steps {
			c.tokens = append(c.tokens, float64(s.Tokens))
		}
		all[i] = Length{SampledTokens: lengths[0][i].SampledTokens, Steps: steps}
	}
	rest, seeds := slices.Clone(members), make([]uint64, len(members))
	if s := c.Simulation; s != nil {
		for i, m := range members {
			seeds[i] = uint64(formats.Seed(s.Seed, "simulate", m.TrajectoryID))
		}
		if len(members) < s.N {
			s.Small++
		}
	}
	for r := range c.Estimators[0].draws {
		if r > 0 {
			c.Simulation.draw(r, seeds, members, rest)
		}
		for k, e := range c.Estimators {
			stats, err := e.grouper.Fill(rest, lengths[k])
			if err != nil && r == 0 { // later only that no member has tokens; then none has an advantage
				return err
			}
			e.draws[r].tally.add(rest, &stats, &e.grouper)
			if mass := e.draws[r].add(rest, all, c.Unit == "member"); r == 0 {
				e.weigh(mass, stats.SolvedCount, stats.Valid)
			}
		}
	}
	return nil
}

// draw marks as failed the members of a group that do not remain: at first none, and all of
// a group that is too small.
func (s *Simulation) draw(r int, seeds []uint64, members, rest []formats.Member) {
	order, lots := make([]int, len(seeds)), make([]uint64, len(seeds))
	for i, seed := range seeds {
		order[i], lots[i] = i, rand.NewPCG(seed, uint64(r)).Uint64()
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(lots[i], lots[j]) })
	for rank, i := range order {
		if rest[i].Status = members[i].Status; len(order) < s.N || rank >= s.N && r > 1 {
			rest[i].Status = formats.StatusFailed
		}
	}
}

// draw is some members of every group.
type draw struct {
	tally
	advantages []float32 // of members, or of their sampled messages; NaN for null and for those of other members
}

// add adds a group, and returns its mass. What rounding left of 0 is 0: less than 1e-12 of
// the largest.
func (d *draw) add(members []formats.Member, lengths []Length, whole bool) (mass float64) {
	from, largest := len(d.advantages), 0.0
	weigh := func(a *float64, tokens int32) float32 {
		if a == nil {
			return float32(math.NaN())
		}
		mass, largest = mass+float64(math.Abs(*a)*float64(tokens)), max(largest, math.Abs(*a))
		return float32(*a)
	}
	for i, m := range members {
		row, rest := formats.Trajectory{Advantage: m.Advantage, Advantages: m.Advantages}, lengths[i].SampledTokens
		for _, s := range lengths[i].Steps {
			tokens := min(s.Tokens, rest)
			d.advantages = append(d.advantages, weigh(row.AdvantageOf(int(s.Message)), tokens))
			rest -= tokens
		}
		for _, own := range m.Advantages {
			for _, a := range own.Tokens { // in the place of their mean
				mass += math.Abs(float64(a)) - math.Abs(own.Value)
			}
		}
		if a := weigh(m.Advantage, rest); whole {
			d.advantages = append(d.advantages, a)
		}
	}
	for i, a := range d.advantages[from:] {
		if math.Abs(float64(a)) < 1e-12*largest {
			d.advantages[from+i] = 0
		}
	}
	return mass
}

// weigh adds the mass of a group.
func (e *Estimated) weigh(mass float64, solved, scored int32) {
	if scored > 0 {
		e.masses = append(e.masses, mass)
		class := &e.Classes[(4*solved+scored-1)/scored+solved/scored] // rounded up; the last is for 1
		class.Groups++
		class.Mass += Figure(mass)
	}
}
