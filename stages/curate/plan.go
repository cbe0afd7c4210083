package curate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// plan is what the rules found about the groups of an epoch. Every shard
// makes the same.
type plan struct {
	batch    Batch
	verdicts []Verdict // one a group
	active   []active
	needRows bool // a rule looks at whole rows
	state    formats.CurateState
}

// active is a rule that the options ask for.
type active struct {
	Kind
	rule  Rule
	state json.RawMessage // from the epoch before
}

// newPlan lets every rule judge the groups that no earlier one refused.
func newPlan(o *Options, in *input) (*plan, error) {
	p := &plan{
		batch:    Batch{Epoch: in.epoch, Seed: o.Seed, Total: len(in.groups), Holdout: in.holdout},
		verdicts: make([]Verdict, len(in.groups)),
		state:    formats.CurateState{Epoch: in.epoch, Compat: string(o.Compat), Rules: maps.Clone(in.before.Rules), Advantages: in.handed(), Recomputed: o.recompute != nil},
	}
	left := remaining{groups: in.groups}
	for _, k := range o.Rules {
		rule, err := k.New(*o)
		if err != nil {
			return nil, err
		}
		if rule == nil {
			continue
		}
		a := active{k, rule, in.before.Rules[k.Name]}
		p.active = append(p.active, a)
		p.state.Order = append(p.state.Order, k.Name)
		if _, ok := rule.(RowRule); ok {
			p.needRows = true
		}
		if err := p.apply(a, &left); err != nil {
			return nil, fmt.Errorf("curate: rule %s: %w", k.Name, err)
		}
	}
	return p, nil
}

func (p *plan) apply(a active, left *remaining) error {
	ruling, err := a.rule.Groups(p.of(a), left.groups)
	if err != nil {
		return err
	}
	for k, v := range ruling.Verdicts {
		if v.Reason != "" {
			v.rule = a.Name
			p.verdicts[left.at(k)] = v
		}
	}
	left.drop(ruling.Verdicts)
	if ruling.State == nil {
		return nil
	}
	data, err := json.Marshal(ruling.State)
	if err != nil {
		return err
	}
	if p.state.Rules == nil {
		p.state.Rules = map[string]json.RawMessage{}
	}
	p.state.Rules[a.Name] = data
	return nil
}

// remaining is the groups that no rule has refused yet. It is the input's own
// list until one is refused, and from then on one copy of those that are left:
// lists of groups are most of what curate holds in memory.
type remaining struct {
	groups []Group
	index  []int // of each, in the input; nil: the same
}

func (r *remaining) at(k int) int {
	if r.index == nil {
		return k
	}
	return r.index[k]
}

// drop leaves out the groups that were refused.
func (r *remaining) drop(verdicts []Verdict) {
	kept := 0
	for _, v := range verdicts {
		if v.Reason == "" {
			kept++
		}
	}
	if kept == len(verdicts) {
		return
	}
	groups, index := r.groups[:0], r.index[:0]
	if r.index == nil {
		groups, index = make([]Group, 0, kept), make([]int, 0, kept)
	}
	for k, v := range verdicts {
		if v.Reason == "" {
			groups, index = append(groups, r.groups[k]), append(index, r.at(k))
		}
	}
	r.groups, r.index = groups, index
}

// of is the batch as a rule sees it.
func (p *plan) of(a active) Batch {
	b := p.batch
	b.State = a.state
	return b
}

// members decides about every member of one group, into out, and returns the
// rule that ended the group, or "" when anything is kept. rows reads the
// group's rows of the base, when a rule wants to see them.
func (p *plan) members(i int, group Group, members []formats.Member, rows func() ([]formats.Trajectory, error), out []Verdict) (ended string, err error) {
	var valid []int
	for k := range members {
		m := &members[k]
		switch {
		case m.Status == formats.StatusFailed || m.Status == formats.StatusSkipped:
			out[k] = Verdict{Reason: formats.DropFailed, Detail: m.Status, rule: formats.DropFailed}
		case m.Reward == nil:
			out[k] = Verdict{Reason: formats.DropUnscored, rule: formats.DropUnscored}
		default:
			out[k] = p.verdicts[i]
			valid = append(valid, k)
		}
	}
	if len(valid) != group.Valid {
		return "", fmt.Errorf("%d members are valid, its statistics say %d", len(valid), group.Valid)
	}
	if len(valid) == 0 {
		return out[len(out)-1].rule, nil
	}
	if v := p.verdicts[i]; v.Reason != "" {
		return v.rule, nil
	}
	var whole []formats.Trajectory
	if p.needRows {
		if whole, err = rows(); err != nil {
			return "", err
		}
	}
	left, last := p.memberRules(group, members, whole, valid, out)
	if len(left) == len(valid) || len(left) == 0 || p.last(members, out) {
		return last, nil
	}
	return p.again(group, members, left, out)
}

// last tells whether a rule that is the last word refused a member.
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

// memberRules lets each rule judge the members that are left, and returns who
// then is, and the rule that left nobody.
func (p *plan) memberRules(group Group, members []formats.Member, whole []formats.Trajectory, left []int, out []Verdict) (_ []int, ended string) {
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

// judge asks one rule about the members that are left.
func (p *plan) judge(a active, group Group, members []formats.Member, whole []formats.Trajectory, left []int) []Verdict {
	switch rule := a.rule.(type) {
	case RowRule:
		some := make([]Row, len(left))
		for k, i := range left {
			some[k] = Row{&members[i], &whole[i]}
		}
		return rule.Rows(p.of(a), group, some)
	case MemberRule:
		some := make([]formats.Member, len(left))
		for k, i := range left {
			some[k] = members[i]
		}
		return rule.Members(p.of(a), some)
	}
	return nil
}

// again judges a group by the members that are left.
func (p *plan) again(group Group, members []formats.Member, left []int, out []Verdict) (ended string, err error) {
	g := group
	g.Valid, g.Mean = len(left), 0
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
		ruling, err := a.rule.Groups(p.of(a), []Group{g})
		if err != nil {
			return "", err
		}
		if len(ruling.Verdicts) == 0 || ruling.Verdicts[0].Reason == "" {
			continue
		}
		for _, i := range left {
			out[i] = ruling.Verdicts[0]
			out[i].Detail += ", of the members that are left"
			out[i].rule = a.Name
		}
		return a.Name, nil
	}
	return "", nil
}
