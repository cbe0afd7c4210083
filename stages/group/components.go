package group

import (
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// components collects the named rewards of a group's valid members, ordered by name. Members
// without any have their total as the only one. It reuses its memory.
type components struct {
	list  []Component
	place map[string]int
	names []string
}

func (c *components) set(members []formats.Member, valid []int, tolerance float64) []Component {
	c.name(members, valid)
	n := len(valid)
	for len(c.list) < len(c.names) {
		c.list = append(c.list, Component{})
	}
	out := c.list[:len(c.names)]
	for k, name := range c.names {
		out[k].Name, out[k].Weight = name, 1
		out[k].Values = slices.Grow(out[k].Values[:0], n)[:n]
		for i := range out[k].Values {
			out[k].Values[i] = math.NaN()
		}
	}
	for k, i := range valid {
		m := &members[i]
		if len(m.Rewards) == 0 {
			out[c.place[""]].Values[k] = *m.Reward
		}
		for _, r := range m.Rewards {
			x := &out[c.place[r.Name]]
			x.Weight = r.Weight
			if r.Value != nil {
				x.Values[k] = *r.Value
			}
		}
	}
	for k := range out {
		out[k].describe()
		out[k].Valid.Tolerance = tolerance
	}
	return out
}

// name lists the names in order, with the index of each.
func (c *components) name(members []formats.Member, valid []int) {
	if c.place == nil {
		c.place = map[string]int{}
	}
	clear(c.place)
	c.names = c.names[:0]
	add := func(name string) {
		if _, ok := c.place[name]; !ok {
			c.place[name] = 0
			c.names = append(c.names, name)
		}
	}
	for _, i := range valid {
		if len(members[i].Rewards) == 0 {
			add("")
		}
		for _, r := range members[i].Rewards {
			add(r.Name)
		}
	}
	slices.SortFunc(c.names, strings.Compare)
	for k, name := range c.names {
		c.place[name] = k
	}
}

func (x *Component) describe() {
	x.present = x.present[:0]
	for _, v := range x.Values {
		if !math.IsNaN(v) {
			x.present = append(x.present, v)
		}
	}
	if x.Valid.Rewards = nil; len(x.present) > 0 {
		x.Valid.Set(x.present)
	}
}

// Component is one named reward of a group's valid members. Its weight is the
// weight in the total.
type Component struct {
	Name   string
	Weight float64
	Values []float64 // NaN where the member has no value
	Valid  Valid     // of the others; without rewards when there are none

	present []float64
}
