package curate

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
)

// plan is what the rules decided about the groups of an epoch. Every shard computes the same.
type plan struct {
	batch    Batch
	groups   *Groups
	active   []active
	needRows bool // a rule reads whole rows
	trains   func(*Group, []formats.Member, []int) training.Training
	left     []int // members of a group to judge again once their advantages are computed again; nil for none
	state    decision.CurateState
}

// newPlan has every rule judge the groups that no earlier one refused.
func newPlan(o *Options, in *input) (*plan, error) {
	p := &plan{
		batch:  Batch{Epoch: in.epoch, Seed: o.Seed, Total: in.groups.Len(), Holdout: in.holdout},
		groups: in.groups, trains: in.training,
		state: decision.CurateState{Epoch: in.epoch, Compat: string(o.Compat), Rules: maps.Clone(in.previousState.Rules),
			Advantages: in.groupState(), Recomputed: o.recompute != nil},
	}
	p.active = slices.Clone(o.running)
	for i := range p.active {
		a := &p.active[i]
		a.state = in.previousState.Rules[a.Name]
		p.state.Order = append(p.state.Order, a.Name)
		p.needRows = p.needRows || a.Rows != nil
	}
	return p, p.judgeGroups()
}

// judgeGroups applies the rules of groups. Consecutive rules that judge each
// group by itself share one pass.
func (p *plan) judgeGroups() error {
	for i := 0; i < len(p.active); i++ {
		if p.active[i].Groups == nil {
			end := i
			for end < len(p.active) && p.active[end].Groups == nil {
				end++
			}
			if err := p.each(i, end); err != nil {
				return err
			}
			i = end - 1
			continue
		}
		p.groups.by, p.groups.hide = uint8(i+1), !p.active[i].Forks
		state, err := p.active[i].Groups(p.of(p.active[i]), p.groups)
		p.groups.hide = false
		if err == nil {
			err = p.keep(p.active[i].Name, state)
		}
		if err != nil {
			return fmt.Errorf("curate: rule %s: %w", p.active[i].Name, err)
		}
	}
	return nil
}

// each has the rules [from, to) judge every group.
func (p *plan) each(from, to int) error {
	for g, err := range p.groups.All() {
		if err != nil {
			return err
		}
		for k := from; k < to; k++ {
			if a := p.active[k]; a.Group != nil && a.Group(p.of(a), g).Reason != "" {
				p.groups.by = uint8(k + 1)
				p.groups.leaveOut(g)
				break
			}
		}
	}
	return nil
}

// keep stores the state of a rule for the next epoch.
func (p *plan) keep(rule string, state any) error {
	if state == nil {
		return nil
	}
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if p.state.Rules == nil {
		p.state.Rules = map[string]json.RawMessage{}
	}
	p.state.Rules[rule] = data
	return nil
}

// judged is a group with the verdict of the rules of groups.
type judged struct {
	*Group
	Verdict
}

// verdicts yields the groups with indexes [from, to); each is valid until the next. Rules that
// judge a group by itself are asked again, which is quicker than storing their verdicts.
func (p *plan) verdicts(from, to int) iter.Seq2[judged, error] {
	return func(yield func(judged, error) bool) {
		note, stop := iter.Pull2(p.groups.notes.Sorted())
		defer stop()
		for g, err := range p.groups.every(from, to) {
			if err != nil {
				yield(judged{}, err)
				return
			}
			j := judged{Group: g}
			if by := p.groups.refused[g.Index]; by > 0 {
				if j.Verdict, err = p.verdict(p.active[by-1], g, note); err != nil {
					yield(judged{}, err)
					return
				}
			}
			if !yield(j, nil) {
				return
			}
		}
	}
}

// verdict returns the verdict of a rule about a group that it refused.
func (p *plan) verdict(a active, g *Group, next func() (spill.Record, error, bool)) (v Verdict, err error) {
	if a.Group != nil {
		v = a.Group(p.of(a), g)
		v.rule = a.Name
		return v, nil
	}
	for {
		r, err, more := next()
		if err != nil {
			return v, err
		}
		if !more {
			return v, fmt.Errorf("curate: rule %s: no note of group %q", a.Name, g.ID)
		}
		if binary.BigEndian.Uint64(r.Key) == uint64(g.Index) {
			var n note
			spill.Decode(r.Value, &n)
			return Verdict{Reason: n.Reason, Detail: n.Detail, rule: a.Name}, nil
		}
	}
}

// of returns the batch as a rule sees it.
func (p *plan) of(a active) Batch {
	b := p.batch
	b.State = a.state
	return b
}
