package chat

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// setRewards sets the label, the total and its components.
func (r *row) setRewards(x *importers.Item) {
	if r.has(label) {
		v := r.columns[label].value
		// beside messages a number may be a class
		if on, ok := value.Truth(v); ok && (r.has(completion) || v[0] != '0' && v[0] != '1') {
			r.take(label)
			x.Label = &on
			give(&x.Row, "label", rewardOf(on))
		} else if r.has(completion) {
			must.Fail("column %q is %s, neither true nor false", r.name(label), importers.Brief(r.take(label)))
		}
	}
	r.components(&x.Row)
	x.Row.Reward = cmp.Or(r.number(reward), x.Row.Reward)
}

// components adds named rewards, each of which has the weight 1.
func (r *row) components(t *formats.Trajectory) {
	v := r.columns[rewards].value
	if len(v) == 0 || v[0] != '{' {
		return
	}
	for key, v := range jsontext.Members(r.take(rewards)) {
		x, err := value.Number(v)
		if err != nil {
			must.Fail("column %q: %s: %w", r.name(rewards), key, err)
		}
		if x != nil {
			give(t, string(key), *x)
		}
	}
}

// setLog reads the columns of the completions that TRL's online trainers log:
// step, an advantage, and a reward for each function under its name.
func (r *row) setLog(x *importers.Item) {
	step, advantage := r.rest.Get("step"), r.rest.Get("advantage")
	if step == nil || advantage == nil || !r.has(completion) {
		return
	}
	n, err := value.Number(step)
	if err != nil || n == nil || *n != float64(int32(*n)) {
		must.Fail("column %q is %s, not a step", "step", importers.Brief(step))
	}
	epoch := int32(*n)
	x.Epoch = &epoch
	var rest jsontext.Builder
	for _, m := range r.rest.Object {
		v, err := value.Number(m.Raw)
		switch {
		case m.Key == "step":
		case m.Key == "advantage" || err != nil || v == nil || m.Raw[0] == '"':
			rest.Set(m.Key, m.Raw)
		default:
			give(&x.Row, m.Key, *v)
		}
	}
	r.rest = rest
}

// give adds a named reward to the total.
func give(t *formats.Trajectory, name string, x float64) {
	total := x
	if t.Reward != nil {
		total += *t.Reward
	}
	t.Reward = &total
	t.Rewards = append(t.Rewards, formats.NamedReward{Name: name, Value: &x, Weight: 1})
}

func rewardOf(label bool) float64 {
	if label {
		return 1
	}
	return 0
}
