package validate

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

const (
	manyFlat = 0.5
	manySame = 0.2
)

// member is the data of a row that the group checks keep.
type member struct {
	Row
	reward  float64
	digest  xxh3.Uint128
	version int64
	known   bool // its version is
}

func copied(r *Row) member {
	m := member{Row: Row{Number: r.Number, TrajectoryID: strings.Clone(r.TrajectoryID), Group: strings.Clone(r.Group)}}
	if m.Status = r.Status; r.Reward != nil {
		m.reward = *r.Reward
		m.Reward = &m.reward
	}
	return m
}

func everyone(r *Row) (member, bool) { return copied(r), true }

// grouped is a check of groups: judge is called with the members of each group
// for which wants returns true.
type grouped struct {
	Count
	next  neighbours[member]
	wants func(*Row) (member, bool)
	found func(*Count) []Finding
}

func newGrouped(wants func(*Row) (member, bool), judge func(*Count, []member), found func(*Count) []Finding) *grouped {
	g := &grouped{wants: wants, found: found}
	g.next.f = func(members []member) { judge(&g.Count, members) }
	return g
}

func (g *grouped) Row(r *Row) {
	if m, ok := g.wants(r); ok {
		g.next.add(r.Group, m)
	}
}

func (g *grouped) Found() []Finding {
	g.next.end()
	return g.found(&g.Count)
}

func rewarded(r *Row) (member, bool) {
	if r.Reward == nil || !r.Valid() {
		return member{}, false
	}
	return copied(r), true
}

// ofGroups is a check of groups that can also use the statistics of a group
// dataset.
type ofGroups struct {
	*grouped
	judge func(*Count, *formats.GroupStats)
}

func (g *ofGroups) Group(s *formats.GroupStats) { g.judge(&g.Count, s) }

func newFlat() Checker {
	flat := func(c *Count, r *Row, group string, lo, hi float64) {
		c.Of++
		if formats.Flat(lo, hi, formats.FlatTolerance) {
			c.Add(r, "", fmt.Sprintf("group %s: all rewards are %.6g", group, lo))
		}
	}
	return &ofGroups{newGrouped(rewarded, func(c *Count, members []member) {
		if len(members) < 2 {
			return
		}
		lo, hi := members[0].reward, members[0].reward
		for _, m := range members {
			lo, hi = min(lo, m.reward), max(hi, m.reward)
		}
		flat(c, &members[0].Row, members[0].Group, lo, hi)
	}, func(c *Count) []Finding {
		return c.Over(manyFlat, "groups give no training signal: all their rewards are equal")
	}), func(c *Count, s *formats.GroupStats) {
		if s.Valid >= 2 && s.Min != nil && s.Max != nil {
			flat(c, &Row{Number: s.FirstRow}, s.GroupID, *s.Min, *s.Max)
		}
	}}
}

func newSingleton() Checker {
	single := func(c *Count, r *Row, group string, members, valid int) {
		if members == 1 { // one member was intended
			return
		}
		if c.Of++; valid == 1 {
			c.Add(r, "", fmt.Sprintf("group %s, of %d", group, members))
		}
	}
	return &ofGroups{newGrouped(everyone, func(c *Count, members []member) {
		last, valid := 0, 0
		for i, m := range members {
			if m.Reward != nil && m.Valid() {
				last, valid = i, valid+1
			}
		}
		single(c, &members[last].Row, members[last].Group, len(members), valid)
	}, func(c *Count) []Finding { return c.Over(0, "groups have one valid member") }), func(c *Count, s *formats.GroupStats) {
		single(c, &Row{Number: s.FirstRow}, s.GroupID, int(s.Count), int(s.Valid))
	}}
}

func newSameAnswers() Checker {
	return newGrouped(func(r *Row) (member, bool) {
		if r.Trajectory == nil || !r.Valid() || r.Trajectory.Answer == "" {
			return member{}, false
		}
		m := copied(r)
		m.digest = xxh3.HashString128(r.Trajectory.Answer)
		return m, true
	}, func(c *Count, members []member) {
		if len(members) < 2 {
			return
		}
		c.Of++
		for _, m := range members {
			if m.digest != members[0].digest {
				return
			}
		}
		c.Add(&members[0].Row, "", fmt.Sprintf("group %s: %d members", members[0].Group, len(members)))
	}, func(c *Count) []Finding { return c.Over(manySame, "groups whose members all answered the same") })
}

// models requires one model in a dataset, and one policy version in a group.
type models struct {
	answered Count
	versions *grouped
}

func newModels() Checker {
	return &models{versions: newGrouped(versioned, func(c *Count, members []member) {
		c.Of++
		for _, m := range members {
			if m.version != members[0].version || m.known != members[0].known {
				c.Add(&m.Row, "", fmt.Sprintf("group %s", m.Group))
				return
			}
		}
	}, func(c *Count) []Finding { return c.Over(0, "groups were sampled by several policy versions") })}
}

func versioned(r *Row) (member, bool) {
	if r.Trajectory == nil || !r.Valid() {
		return member{}, false
	}
	m := copied(r)
	if v := r.Trajectory.PolicyVersion; v != nil {
		m.version, m.known = *v, true
	}
	return m, true
}

func (c *models) Row(r *Row) {
	c.versions.Row(r)
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	for i := range r.Trajectory.Calls {
		if call := &r.Trajectory.Calls[i]; call.Target && call.Error == "" {
			c.answered.Of++
			c.answered.Add(r, call.Model, call.Model)
		}
	}
}

func (c *models) Found() []Finding {
	found := c.versions.Found()
	if len(c.answered.sorts) > 1 {
		c.answered.First = nil
		found = append(found, c.answered.Over(0, "several models answered for the target")...)
	}
	return found
}
