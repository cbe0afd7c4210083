package witness

import (
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
)

// row is a row of one of the datasets.
type row struct {
	Number int64
	formats.Trajectory
}

// comparison counts what two datasets say of the same attempts.
type comparison struct {
	rows     [2]row // compared now
	all      []*Compared
	by       map[string]*Compared // all, by what they are of
	unjoined [2]validate.Count
	facts    *Facts
}

// compare counts one thing that both records may say, and how often they do not say the same.
func (c *comparison) compare(name, check string, has [2]bool, same func() bool, sort string, says func() [2]string) {
	if !has[0] && !has[1] {
		return
	}
	of := c.by[name]
	if of == nil {
		of = &Compared{What: strings.Clone(name), check: check}
		c.by[of.What], c.all = of, append(c.all, of)
	}
	switch {
	case !has[0]:
		c.add(&of.only[1], 0, sort, says())
	case !has[1]:
		c.add(&of.only[0], 1, sort, says())
	default:
		if of.Both++; !same() {
			c.add(&of.differ, 0, sort, says())
		}
	}
}

// add counts a place in the row of one side, and what the other's row has there.
func (c *comparison) add(n *validate.Count, side int, sort string, says [2]string) {
	n.Add(&validate.Row{Number: c.rows[side].Number, TrajectoryID: c.rows[side].TrajectoryID}, sort, "%s", says[side])
	if int(n.N) == len(n.First) {
		other := c.rows[1-side]
		p := validate.PlaceOf(other.Number, other.TrajectoryID, says[1-side])
		n.First[n.N-1].Other = &p
	}
}

// attempt compares two records of an attempt.
func (c *comparison) attempt(m *matched) {
	shifted := c.shifted(m)
	for i, j := range m.with[0] {
		if j < 0 {
			continue
		}
		a, b := &m.of[0][i], &m.of[1][j]
		if a.isAnswer() {
			c.compare(calls, "witness_calls", [2]bool{true, true}, func() bool { return true }, "", nil)
		}
		for _, f := range append(facets[:len(facets):len(facets)], text(a.sort)) {
			if shifted[f.name] && a.sort == answers {
				continue
			}
			sort := ""
			if f.name == "roles" {
				sort = a.Role + " and " + b.Role
			}
			c.compare(f.name, f.check, [2]bool{f.has(a), f.has(b)}, func() bool { return f.same(a, b) }, sort, func() [2]string {
				says := differing(f.text(a), f.text(b))
				return [2]string{a.place() + says[0], b.place() + says[1]}
			})
		}
	}
	for side, all := range m.of {
		for i := range all {
			if m.with[side][i] < 0 && (all[i].sort != answers || !shifted[answers]) {
				c.missing(m, side, i)
			}
		}
	}
	c.outcome()
}

// missing counts a message that only one side has. One after an answer that the other lacks is missing with it.
func (c *comparison) missing(m *matched, side, i int) {
	x := &m.of[side][i]
	name, check, sort := x.sort, text(x.sort).check, ""
	switch {
	case x.sort == auxiliary:
		check = "witness_auxiliary"
	case x.sort == retries, x.again:
		name, check = retries, "witness_retries"
	case x.sort == answers:
		name, check, sort = calls, "witness_calls", "in the middle"
		if x.number == m.last[side] {
			sort = "the last"
		}
		if x.number == 1 {
			sort = "the first"
		}
	case x.after >= 0 && m.with[side][x.after] < 0:
		return
	}
	var says [2]string
	says[side], says[1-side] = x.place()+differing(strings.TrimSpace(x.text()+" "+x.calls()), "")[0], "nothing"
	c.compare(name, check, [2]bool{side == 0, side == 1}, nil, sort, func() [2]string { return says })
}

// shifted counts, and returns, what one record says of each turn that the other says of the next or last one.
func (c *comparison) shifted(m *matched) map[string]bool {
	out := map[string]bool{}
	shift := func(name string, a, b *item) {
		out[name] = true
		c.compare("the turns of "+name, "witness_shift", [2]bool{true, true}, func() bool { return false }, "",
			func() [2]string { return [2]string{a.place() + name, b.place() + "the same " + name} })
	}
	if m.offset() {
		shift(answers, &m.of[0][m.turns[0][0]], &m.of[1][m.turns[0][1]])
	}
	for _, at := range m.moved {
		shift("single answers", &m.of[0][at[0]], &m.of[1][at[1]])
	}
	for _, f := range facets {
		differ, near := 0, [2][][2]*item{}
		for n, at := range m.turns {
			a := &m.of[0][at[0]]
			to := func(n int) (b *item, same bool) {
				if n < 0 || n >= len(m.turns) {
					return nil, false
				}
				b = &m.of[1][m.turns[n][1]]
				return b, f.has(b) && f.same(a, b)
			}
			if _, same := to(n); same || !f.has(a) || f.shifts == 0 {
				continue
			}
			differ++
			for way, k := range [2]int{n + 1, n - 1} {
				if b, same := to(k); same {
					near[way] = append(near[way], [2]*item{a, b})
				}
			}
		}
		for _, list := range near {
			if differ > 1 && len(list) >= max(f.shifts, differ-1) && !out[f.name] {
				shift(f.name, list[0][0], list[0][1])
			}
		}
	}
	return out
}

// outcome compares how an attempt ended.
func (c *comparison) outcome() {
	const failed = "failed calls"
	values := map[string]*[2]*float64{}
	var names []string
	set := func(name string, side int, v *float64) {
		if values[name] == nil {
			values[name], names = &[2]*float64{}, append(names, name)
		}
		values[name][side] = v
	}
	for side := range c.rows {
		r, n := &c.rows[side], 0.0
		for i := range r.Calls {
			if r.Calls[i].Error != "" {
				n++
				set(failed, side, &n)
			}
		}
		set("reward", side, r.Reward)
		for _, x := range r.Rewards {
			set("reward "+x.Name, side, x.Value)
		}
	}
	status := [2]string{c.rows[0].Status, c.rows[1].Status}
	c.compare("status", "witness_status", [2]bool{true, true}, func() bool { return status[0] == status[1] }, "", func() [2]string { return status })
	for _, name := range names {
		v, check := values[name], "witness_rewards"
		if name == failed {
			check = "witness_retries"
		}
		c.compare(name, check, [2]bool{v[0] != nil, v[1] != nil}, func() bool { return math.Abs(*v[0]-*v[1]) <= 1e-9*max(1, math.Abs(*v[0])) }, "",
			func() [2]string { return [2]string{shown(v[0]), shown(v[1])} })
	}
}

func shown(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v)
}
