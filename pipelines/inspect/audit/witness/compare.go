package witness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
)

// comparison counts what two datasets say of the same attempts.
type comparison struct {
	rows     [2]row // compared now
	by       map[string]*Compared
	unjoined [2]validate.Count
	facts    *Facts
}

// compare counts one thing that both records may say. If they do not say the same, says has what they say.
func (c *comparison) compare(name, sort string, has [2]bool, same bool, says func() [2]string) {
	if !has[0] && !has[1] {
		return
	}
	of := c.by[name]
	if of == nil {
		of = &Compared{What: strings.Clone(name)}
		c.by[of.What], c.facts.Compared = of, append(c.facts.Compared, of)
	}
	n, side := &of.differ, 0
	switch {
	case !has[0]:
		n = &of.only[1]
	case !has[1]:
		n, side = &of.only[0], 1
	default:
		if of.Both++; same {
			return
		}
	}
	text, own, other := says(), &c.rows[side], &c.rows[1-side]
	n.Add(&validate.Row{Number: own.Number, TrajectoryID: own.TrajectoryID}, sort, "%s", text[side])
	if int(n.N) == len(n.First) {
		p := validate.PlaceOf(other.Number, other.TrajectoryID, text[1-side])
		n.First[n.N-1].Other = &p
	}
}

var both = [2]bool{true, true}

// attempt compares two records of an attempt.
func (c *comparison) attempt(m *matched) {
	shifted := c.shifted(m)
	for i, j := range m.with[0] {
		if j < 0 {
			continue
		}
		a, b := &m.of[0][i], &m.of[1][j]
		if a.isAnswer() {
			c.compare(calls, "", both, true, nil)
		}
		for _, f := range facets {
			sort := ""
			if shifted[f.name] && a.sort == answers {
				continue
			}
			if f.name == "roles" {
				sort = a.Role + " and " + b.Role
			}
			c.compare(cmp.Or(f.name, a.sort), sort, [2]bool{f.has(a), f.has(b)}, f.same(a, b), func() [2]string {
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
	says := [2]map[string]string{outcome(&c.rows[0].Trajectory), outcome(&c.rows[1].Trajectory)}
	names := maps.Clone(says[0])
	maps.Copy(names, says[1])
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := says[0][name], says[1][name]
		c.compare(name, "", [2]bool{a != "", b != ""}, a == b, func() [2]string { return differing(a, b) })
	}
}

// outcome returns how an attempt ended, by name.
func outcome(t *formats.Trajectory) map[string]string {
	out, n := map[string]string{"status": t.Status}, 0
	for _, x := range append([]formats.NamedReward{{Value: t.Reward}}, t.Rewards...) {
		if x.Value != nil {
			out[strings.TrimSpace("reward "+x.Name)] = fmt.Sprintf("%.9g", *x.Value)
		}
	}
	for i := range t.Calls {
		if t.Calls[i].Error != "" {
			n++
			out["failed calls"] = fmt.Sprint(n)
		}
	}
	return out
}

// missing counts a message that only one side has. One after an answer that the other lacks is missing with it.
func (c *comparison) missing(m *matched, side, i int) {
	x := &m.of[side][i]
	name, sort := x.sort, ""
	switch {
	case x.again:
		name = retries
	case x.sort == answers:
		name, sort = calls, "in the middle"
		if x.number == len(m.main[side]) {
			sort = "the last"
		}
		if x.number == 1 {
			sort = "the first"
		}
	case x.inMain() && x.after >= 0 && m.with[side][x.after] < 0:
		return
	}
	c.compare(name, sort, [2]bool{side == 0, side == 1}, false, func() (says [2]string) {
		says[1-side] = "nothing"
		says[side] = x.place() + differing(strings.TrimSpace(x.text()+" "+strings.Trim(fmt.Sprint(x.calls()), "[]")), "")[0]
		return says
	})
}

// shifted counts, and returns, what one record says of each turn that the other says of the next or last one.
func (c *comparison) shifted(m *matched) map[string]bool {
	out := map[string]bool{}
	shift := func(name string, at [2]*item) {
		out[name] = true
		c.compare("the turns of "+name, "", both, false,
			func() [2]string { return [2]string{at[0].place() + name, at[1].place() + "the same " + name} })
	}
	for _, at := range m.moved {
		shift("single answers", at)
	}
	turns := [][2]*item{}
	if len(m.main[0]) == len(m.main[1]) {
		for n, a := range m.main[0] {
			turns = append(turns, [2]*item{a, m.main[1][n]})
		}
	}
	same := func(a, b *item) bool { return a.key == b.key }
	if list := offByOne(turns, facet{shifts: max(2, len(turns)-1), has: (*item).isAnswer, same: same}); list != nil {
		shift(answers, list[0])
	}
	for _, f := range facets {
		if list := offByOne(m.turns, f); list != nil {
			shift(f.name, list[0])
		}
	}
	return out
}

// offByOne returns the turns of which one record says what the other says of the next one, or of the last one, if
// they are all that differ, but for one at an end.
func offByOne(turns [][2]*item, f facet) [][2]*item {
	differ, near := 0, [2][][2]*item{}
	for n, at := range turns {
		if !f.has(at[0]) || f.same(at[0], at[1]) {
			continue
		}
		differ++
		for way, k := range [2]int{n + 1, n - 1} {
			if 0 <= k && k < len(turns) && f.same(at[0], turns[k][1]) {
				near[way] = append(near[way], [2]*item{at[0], turns[k][1]})
			}
		}
	}
	for _, list := range near {
		if differ > 1 && len(list) >= max(f.shifts, differ-1) {
			return list
		}
	}
	return nil
}
