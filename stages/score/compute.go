package score

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/storage/fault"
)

// score runs every reward over rows of a job in order: a later one may read an
// earlier one's values.
func (p *pipeline) score(ctx context.Context, j *job, rows []*Row) error {
	alive := slices.Grow(j.alive[:0], len(rows))
	for _, r := range rows {
		p.carry(r, j.named(p.each))
		if Scorable(r.Status) {
			alive = append(alive, r)
		}
	}
	j.alive = alive
	if p.in.copies != nil {
		p.in.copies.markRecomputed(alive, p.rewards)
	}
	for _, c := range p.rewards {
		if err := p.component(ctx, j, c, alive); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if !Scorable(r.Status) {
			p.unscored(r)
		}
		j.add(r)
		for _, name := range r.steps {
			j.facts[factSteps(name)]++
		}
		if r.copied != nil {
			for _, name := range r.copied.computed {
				j.facts[factComputed(name)]++
			}
		}
	}
	return nil
}

// component gives every row one reward: computed, or carried over.
func (p *pipeline) component(ctx context.Context, j *job, c component, rows []*Row) error {
	due, kept := rows, []*Row(nil)
	if p.in.copies != nil {
		due, kept = p.in.copies.split(rows, c)
		for _, r := range due {
			r.copied.computed = append(r.copied.computed, c.Name)
		}
	}
	for _, r := range kept {
		for _, s := range c.given {
			r.Known = append(r.Known, r.copied.value(s))
		}
		r.signals = append(r.signals, signalsOf(r.copied.signals, c.Name)...)
		if p.in.copies.steps[c.Name] {
			r.steps = append(r.steps, c.Name)
		}
	}
	if c.Unmetered && len(due) > 0 {
		j.facts[prices.Unmetered("reward "+c.Name)] += len(due)
	}
	return p.compute(ctx, j.buffer, c, due)
}

func (p *pipeline) compute(ctx context.Context, to *buffer, c component, rows []*Row) error {
	if len(rows) == 0 {
		return ctx.Err()
	}
	if !c.Immediate {
		to.values = nil // a program may keep them
	}
	values := slices.Grow(to.values[:0], len(rows))[:len(rows)]
	to.values = values
	for i := range values {
		values[i] = Value{Failure: outcomes.RewardMissing}
	}
	if err := scoreUntried(ctx, c, rows, values); err != nil {
		var known *fault.Error
		if errors.As(err, &known) {
			return fault.Errorf(known.Kind, known.Help, "score: reward %q: %w", c.Name, err)
		}
		return fault.Errorf(fault.Failed, "", "score: reward %q: %w", c.Name, err)
	}
	for i, r := range rows {
		if v := &values[i]; v.plain() && c.Spec.Parts == nil {
			r.Known = append(r.Known, formats.NamedReward{Name: c.Name, Weight: c.Weight, Value: to.number(v.Reward)})
			continue
		}
		v := checked(values[i])
		if trace := values[i].Traceback; trace != "" {
			if err := p.failures.Keep(ctx, v.Error, trace); err != nil {
				return fmt.Errorf("score: keeping a traceback: %w", err)
			}
		}
		if v.Failure == "" {
			shaped, ok := addShaped(r.fresh, v.Shaped, c.Weight)
			if !ok {
				v = Failed(outcomes.RewardAnswer, "%d shaped rewards do not fit the %d of the rewards before", len(v.Shaped),
					len(r.fresh))
			} else {
				r.fresh = shaped
			}
			if v.Shaped != nil {
				r.steps = append(r.steps, c.Name)
				p.show(r, c.Name, v.Shaped)
			}
			for _, s := range v.Signals {
				s.Component = c.Name
				r.signals = append(r.signals, s)
			}
		}
		r.Known = c.appendTo(r.Known, v, to)
	}
	return nil
}

// appendTo appends a value and its parts to a row's rewards.
func (c *component) appendTo(rewards []formats.NamedReward, v Value, to *buffer) []formats.NamedReward {
	own := len(c.given) - len(c.Spec.Parts)
	if own > 0 {
		rewards = append(rewards, named(c.Spec, v, to))
	}
	for i, s := range c.given[own:] {
		rewards = append(rewards, named(s, v.part(i, len(c.Spec.Parts)), to))
	}
	return rewards
}

// scoreUntried is the reward's Score for the rows on which it was not tried.
func scoreUntried(ctx context.Context, c component, rows []*Row, values []Value) error {
	if !slices.ContainsFunc(rows, func(r *Row) bool { _, tried := r.tried[c.Name]; return tried }) {
		return c.Score(ctx, rows, values)
	}
	var rest []*Row
	var at []int
	for i, r := range rows {
		if v, tried := r.tried[c.Name]; tried {
			values[i] = v
		} else {
			rest, at = append(rest, r), append(at, i)
		}
	}
	own := slices.Repeat([]Value{{Failure: outcomes.RewardMissing}}, len(rest))
	if len(rest) == 0 {
		return nil
	}
	err := c.Score(ctx, rest, own)
	for k, i := range at {
		values[i] = own[k]
	}
	return err
}

// show passes a row's shaped rewards to the rewards that read them.
func (p *pipeline) show(r *Row, name string, shaped []float64) {
	if !p.shown[name] {
		return
	}
	if r.Shaped == nil {
		r.Shaped = map[string][]float64{}
	}
	r.Shaped[name] = shaped
}

// carry keeps those of a row's known rewards that are not computed again, in one order for all
// rows. Shaped rewards are the sum of all components, so they are kept only if none of these is
// replaced; new ones are added to them, and rewards computed from them replace them.
func (p *pipeline) carry(r *Row, room []formats.NamedReward) {
	before, said := r.Known, r.signals
	r.Known, r.signals = room, nil
	for _, spec := range p.carried {
		n := formats.NamedReward{Name: spec.Name, Weight: spec.Weight, Failure: outcomes.RewardMissing}
		for i := range before {
			if before[i].Name == spec.Name {
				n = before[i]
			}
		}
		r.Known = append(r.Known, n)
		r.signals = append(r.signals, signalsOf(said, spec.Name)...)
	}
	switch {
	case len(p.carried) != len(before) || r.shaped == nil:
	case p.shown[""]:
		p.show(r, "", r.shaped)
	default:
		r.fresh = slices.Clone(r.shaped)
		r.steps = append(r.steps, p.stepped...)
	}
}

func signalsOf(all []formats.Signal, name string) (out []formats.Signal) {
	for _, s := range all {
		if s.Component == name {
			out = append(out, s)
		}
	}
	return out
}

// unscored gives a trajectory that failed every reward, all null.
func (p *pipeline) unscored(r *Row) {
	r.Known = r.Known[:len(p.carried)]
	for _, c := range p.rewards {
		r.Known = c.appendTo(r.Known, Value{Failure: outcomes.RewardTrajectory}, nil)
	}
}
