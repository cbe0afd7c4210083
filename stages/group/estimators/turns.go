package estimators

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Turns gives each message that the policy wrote the credit of what came after it: the
// trajectory's GRPO advantage, and how far the message's return is from that of the
// group. A return is the discounted sum of the shaped rewards from the message on; a
// trajectory without shaped rewards has its reward at the last message.
//
//	none  outcome A + weight (G(k) - mean G(k)) / (population std of G(0) + 1e-6)
//
// with A as grpo has it, k the message's place among the sampled ones of the main path,
// and the mean over the whole group: a trajectory that ended before k counts with a
// return of 0. The mean over those that reached k, and their own deviation, as
// MT-GRPO has them (arXiv 2505.11821), depend on when this trajectory stopped: that
// rewards every further turn, as verl#7244 shows. NoScale divides nothing.
var Turns = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "turns", Help: "credit for each message: the group's advantage and the message's return",
		New: func() group.EstimatorSettings { return &TurnsSettings{stepWeights{1, 1, 1}} }},
	ZeroSum: true,
}

// stepWeights are what estimators of steps are told. Discount is from 0 to 1.
type stepWeights struct{ Discount, Weight, Outcome float64 }

func (w stepWeights) check(name string) error {
	if !(w.Discount >= 0 && w.Discount <= 1) {
		return group.Invalid("give a number from 0 to 1", "--%s-discount %v", name, w.Discount)
	}
	if math.IsNaN(w.Weight+w.Outcome) || math.IsInf(w.Weight+w.Outcome, 0) {
		return group.Invalid("give finite numbers", "--%s-weight %v, --%[1]s-outcome-weight %v", name, w.Weight, w.Outcome)
	}
	return nil
}

// returns replaces the rewards of steps by their discounted sums from there on.
func (w stepWeights) returns(steps []group.Step) []float64 {
	out := make([]float64, len(steps))
	sum := 0.0
	for k := len(steps) - 1; k >= 0; k-- {
		sum = group.Finite(steps[k].Reward + float64(w.Discount*sum))
		out[k] = sum
	}
	return out
}

// TurnsSettings are the settings of Turns.
type TurnsSettings struct{ stepWeights }

// Declare declares the settings.
func (s *TurnsSettings) Declare(d *plugin.Declarer) {
	d.Float(&s.Discount, "turns-discount", "let a reward count `G` times as much for each message before it").ID("turns.discount")
	d.Float(&s.Weight, "turns-weight", "add a message's own advantage `X` times").ID("turns.weight")
	d.Float(&s.Outcome, "turns-outcome-weight", "add the trajectory's advantage `X` times").ID("turns.outcome-weight")
}

// Estimator makes the estimator.
func (s *TurnsSettings) Estimator(setup group.Setup) (group.Estimator, error) {
	if setup.Compat != group.CompatNone {
		return nil, group.Refuse("turns", setup, group.CompatNone)
	}
	outcome, err := grpo(setup)
	if err == nil {
		err = s.check("turns")
	}
	return &turns{outcome, s.stepWeights, setup.NoScale}, err
}

type turns struct {
	group.Estimator
	stepWeights
	noScale bool
}

func (e *turns) Looks() group.Looks { return group.Looks{} }

func (e *turns) Steps(steps [][]group.Step, out [][]group.Credit) error {
	all, longest := make([][]float64, len(steps)), 0
	for i := range steps {
		all[i] = e.returns(steps[i])
		longest = max(longest, len(all[i]))
	}
	column := make([]float64, len(steps))
	at := func(k int) *group.Valid {
		for i := range all {
			if column[i] = 0; k < len(all[i]) {
				column[i] = all[i][k]
			}
		}
		v := new(group.Valid)
		v.Set(column)
		return v
	}
	std := at(0).StdPop
	for k := range longest {
		v := at(k)
		for i := range all {
			if k < len(all[i]) {
				out[i][k].Value = e.add(out[i][k].Value, v, all[i][k], std, e.noScale)
			}
		}
	}
	return nil
}

// add returns a step's advantage: outcome, that of its trajectory, and how far its return
// is from the mean of v, in units of std.
func (w stepWeights) add(outcome float64, v *group.Valid, r, std float64, noScale bool) float64 {
	own := v.Centred(r)
	switch {
	case formats.Flat(v.Min, v.Max, formats.FlatTolerance):
		own = 0
	case !noScale:
		own = v.Scaled(r, std, 1e-6)
	}
	return group.Finite(float64(w.Outcome*outcome) + float64(w.Weight*own))
}
