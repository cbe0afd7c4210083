package validate

import (
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
)

// grouped is a check of groups whose rows are adjacent. It remembers something of
// the rows of one group.
type grouped[T any] struct {
	Count
	group   string
	members []T
	of      func(*Row) (T, bool)             // what it remembers of a row, if it checks it
	judge   func(c *Count, g string, of []T) // counts what is wrong with a group
}

func inGroups[T any](of func(*Row) (T, bool), judge func(*Count, string, []T)) func() checker {
	return func() checker { return &grouped[T]{of: of, judge: judge} }
}

// inWideGroups is inGroups for valid wide rows.
func inWideGroups[T any](of func(*Row, *formats.Trajectory) (T, bool), judge func(*Count, string, []T)) func() checker {
	return inGroups(func(r *Row) (m T, checks bool) {
		if t := r.wide(); t != nil {
			m, checks = of(r, t)
		}
		return m, checks
	}, judge)
}

func (g *grouped[T]) Row(r *Row) {
	m, checks := g.of(r)
	if !checks {
		return
	}
	if r.Group != g.group {
		g.end()
		g.group = strings.Clone(r.Group)
	}
	g.members = append(g.members, m)
}

func (g *grouped[T]) end() {
	if len(g.members) > 0 {
		g.judge(&g.Count, g.group, g.members)
	}
	g.members = g.members[:0]
}

func (g *grouped[T]) found(k *Check) []Finding {
	g.end()
	return g.Count.found(k)
}

// spread is what the scores of a group are. A row of a dataset has its reward as score.
type spread struct {
	members, valid int
	scored         int // of the valid ones
	lo, hi         float64
	first          kept // of the scored ones, else of the members
	trains         training.Training
	fork           bool
}

func (s *spread) add(k kept, valid, scored bool, score float64) {
	if s.members++; s.members == 1 {
		s.first = k
	}
	if !valid {
		return
	}
	if s.valid++; !scored {
		return
	}
	if s.scored++; s.scored == 1 {
		s.lo, s.hi, s.first = score, score, k
	}
	s.lo, s.hi = min(s.lo, score), max(s.hi, score)
}

// flat reports whether the group gives no training signal, by its advantages or scores, and by which.
func (s *spread) flat() (flat bool, by string) {
	if s.trains == training.TrainsByRewards {
		return s.scored > 1 && training.Flat(s.lo, s.hi, training.FlatTolerance), "by rewards"
	}
	return s.trains == training.TrainsNothing, "by advantages"
}

// spreads is a check of the scores of groups, which also sees their statistics.
type spreads struct {
	*grouped[scored]
	judge func(c *Count, group string, s *spread)
}

// scored is what is remembered of a row for its group's spread.
type scored struct {
	kept
	valid, scored bool
	score         float64
	trains        training.Training
	fork          bool
}

func ofSpreads(judge func(*Count, string, *spread)) func() checker {
	start := inGroups(func(r *Row) (scored, bool) {
		m := scored{kept: keep(r), valid: r.Valid(), trains: r.Trains, fork: r.Fork}
		if m.scored = r.Reward != nil; m.scored {
			m.score = *r.Reward
		}
		return m, true
	}, func(c *Count, group string, members []scored) {
		var s spread
		for _, m := range members {
			s.add(m.kept, m.valid, m.scored, m.score)
			s.trains, s.fork = max(s.trains, m.trains), m.fork
		}
		judge(c, group, &s)
	})
	return func() checker { return &spreads{start().(*grouped[scored]), judge} }
}

func (s *spreads) group(g *formats.GroupStats, trains training.Training) {
	sum := spread{members: int(g.Count), scored: int(g.Valid), hi: 1, first: kept{number: g.FirstRow}, trains: trains, fork: g.Forks}
	if g.Min != nil && g.Max != nil {
		sum.lo, sum.hi = *g.Min, *g.Max
	}
	s.judge(&s.Count, g.GroupID, &sum)
}

// Flat is the name of the check for groups without a training signal. Who makes it of wide rows says what each
// trains (Row.Trains).
const Flat = "flat"

var newFlat = ofSpreads(func(c *Count, group string, s *spread) {
	if s.fork || s.trains == training.NoAdvantages || s.trains == training.TrainsByRewards && s.scored < 2 {
		return // a group of forks is no attempt at an example
	}
	c.Of++
	switch flat, by := s.flat(); {
	case flat && s.lo < s.hi:
		c.add(s.first, by, "group %s: all advantages are 0, rewards are from %.6g to %.6g", group, s.lo, s.hi)
	case flat:
		c.add(s.first, by, "group %s: all rewards are %.6g", group, s.lo)
	}
})

var newSingleton = ofSpreads(func(c *Count, group string, s *spread) {
	if s.members == 1 { // one member was intended
		return
	}
	if c.Of++; s.scored == 1 { // rows without any reward are not compared yet
		c.add(s.first, "", "group %s, of %d", group, s.members)
	}
})

type answer struct {
	kept
	digest xxh3.Uint128
}

var newSameAnswers = inWideGroups(func(r *Row, t *formats.Trajectory) (answer, bool) {
	return answer{keep(r), xxh3.HashString128(t.Answer)}, t.Answer != ""
}, func(c *Count, group string, members []answer) {
	if len(members) < 2 {
		return
	}
	c.Of++
	for _, m := range members {
		if m.digest != members[0].digest {
			return
		}
	}
	c.add(members[0].kept, "", "group %s: %d members", group, len(members))
})

var newMixedPrompts = inWideGroups(func(r *Row, t *formats.Trajectory) (asked, bool) {
	digest, is := formats.FirstPrompt(t)
	return asked{keep(r), digest}, is
}, func(c *Count, group string, members []asked) {
	c.Of++
	for _, m := range members {
		if m.prompt != members[0].prompt {
			c.add(m.kept, "", "group %s: another prompt than trajectory %s", group, members[0].kept.id)
			return
		}
	}
})

type asked struct {
	kept
	prompt uint64
}

// models wants one model in a dataset, and one policy version in a group.
type models struct {
	*grouped[version]
	answered Count
}

type version struct {
	kept
	version int64
	known   bool
}

var newVersions = inWideGroups(func(r *Row, t *formats.Trajectory) (version, bool) {
	v := version{kept: keep(r)}
	if t.PolicyVersion != nil {
		v.version, v.known = *t.PolicyVersion, true
	}
	return v, true
}, func(c *Count, group string, members []version) {
	c.Of++
	for _, m := range members {
		if m.version != members[0].version || m.known != members[0].known {
			c.add(m.kept, "", "group %s", group)
			return
		}
	}
})

func (c *models) Row(r *Row) {
	c.grouped.Row(r)
	t := r.wide()
	if t == nil {
		return
	}
	for i := range t.Calls {
		if call := &t.Calls[i]; call.Target && call.Error == "" {
			c.answered.Of++
			c.answered.Add(r, call.Model, "%s", call.Model)
		}
	}
}

func (c *models) found(k *Check) []Finding {
	found := c.grouped.found(k)
	if len(c.answered.sorts) > 1 {
		c.answered.First = nil
		found = append(found, c.answered.Over(0, "several models answered for the target")...)
	}
	return found
}
