package curate

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// members decides about every member of one group, into out, and returns the
// rule that ended the group, or "" if anything is kept. rows reads the group's
// rows of the base, for rules that need them.
func (p *plan) members(group judged, members []formats.Member, rows func() ([]formats.Trajectory, error),
	out []Verdict) (ended string, err error) {
	p.left = nil
	var valid []int
	for k := range members {
		m := &members[k]
		switch {
		case m.Status == outcomes.StatusFailed || m.Status == outcomes.StatusSkipped:
			out[k] = Verdict{Reason: decision.DropFailed, Detail: m.Status, rule: decision.DropFailed}
		case m.Reward == nil:
			out[k] = Verdict{Reason: decision.DropUnscored, rule: decision.DropUnscored}
		default:
			out[k] = group.Verdict
			valid = append(valid, k)
		}
	}
	if len(valid) != group.Valid {
		return "", fmt.Errorf("%d members are valid, its statistics say %d", len(valid), group.Valid)
	}
	if len(valid) == 0 {
		return out[len(out)-1].rule, nil
	}
	if group.Reason != "" {
		return group.rule, nil
	}
	var whole []formats.Trajectory
	if p.needRows {
		if whole, err = rows(); err != nil {
			return "", err
		}
	}
	left, last := p.memberRules(*group.Group, members, whole, valid, out)
	if len(left) == len(valid) || len(left) == 0 || p.last(members, out) {
		return last, nil
	}
	if p.state.Recomputed { // by the advantages that are computed next
		p.left = left
		return last, nil
	}
	return p.again(*group.Group, members, left, out), nil
}

// last reports whether a Kind.Last rule refused a member.
func (p *plan) last(members []formats.Member, out []Verdict) bool {
	for _, a := range p.active {
		for k := range members {
			if a.Last && slices.Contains(a.Reasons, out[k].Reason) {
				return true
			}
		}
	}
	return false
}

// memberRules applies each rule to the remaining members. It returns the
// members that are left, and the rule that left none.
func (p *plan) memberRules(group Group, members []formats.Member, whole []formats.Trajectory, left []int,
	out []Verdict) (_ []int, ended string) {
	for _, a := range p.active {
		verdicts := p.judge(a, group, members, whole, left)
		if verdicts == nil {
			continue
		}
		kept := left[:0:0]
		for k, i := range left {
			if out[i] = verdicts[k]; verdicts[k].Reason == "" {
				kept = append(kept, i)
			} else {
				out[i].rule = a.Name
			}
		}
		if left = kept; len(left) == 0 {
			return nil, a.Name
		}
	}
	return left, ""
}

func (p *plan) judge(a active, group Group, members []formats.Member, whole []formats.Trajectory, left []int) []Verdict {
	switch {
	case a.Rows != nil:
		some := make([]Row, len(left))
		for k, i := range left {
			some[k] = Row{&members[i], &whole[i]}
		}
		return a.Rows(p.of(a), group, some)
	case a.Members != nil:
		if len(left) == len(members) {
			return a.Members(p.of(a), members)
		}
		some := make([]formats.Member, len(left))
		for k, i := range left {
			some[k] = members[i]
		}
		return a.Members(p.of(a), some)
	}
	return nil
}

// again judges a group by its remaining members.
func (p *plan) again(group Group, members []formats.Member, left []int, out []Verdict) (ended string) {
	g := group
	g.Valid, g.Mean, g.Trains = len(left), 0, p.trains(&g, members, left)
	g.Min, g.Max = *members[left[0]].Reward, *members[left[0]].Reward
	for _, i := range left {
		r := *members[i].Reward
		g.Min, g.Max = min(g.Min, r), max(g.Max, r)
		g.Mean += r / float64(len(left))
	}
	for _, a := range p.active {
		if !a.Again {
			continue
		}
		verdict := a.Group(p.of(a), &g)
		if verdict.Reason == "" {
			continue
		}
		for _, i := range left {
			out[i] = verdict
			out[i].Detail += ", of the members that are left"
			out[i].rule = a.Name
		}
		return a.Name
	}
	return ""
}
