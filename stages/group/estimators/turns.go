package estimators

import (
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Turns gives each message that the policy wrote the credit of what came after it: the
// trajectory's GRPO advantage, and how far the message's return is from that of the
// group. A return is the discounted sum of the shaped rewards from the message on; a
// trajectory without shaped rewards has its reward at the last message. With a signal, it
// is that of the messages' own values, such as those of a process reward model.
//
//	none  outcome A + weight (G(k) - mean G(k)) / (std + 1e-6)
//
// with A as grpo has it, k the message's place among the sampled ones of the main path,
// std the largest population std of a G(j), and means and stds over the whole group: a
// trajectory that ended before k counts with a return of 0. The std of G(0) alone would
// be 0, or nearly, where only later messages differ. The mean over those that reached k,
// and their own deviation, as MT-GRPO has them (arXiv 2505.11821), depend on when this
// trajectory stopped: that rewards every further turn, as verl#7244 shows. NoScale
// divides nothing.
var Turns = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "turns", Help: "credit for each message: the group's advantage and the message's return",
		New: func() group.EstimatorSettings { return &TurnsSettings{stepWeights{1, 1, 1, ""}} }},
	Scaled:  true,
	ZeroSum: true,
}

// stepWeights are what estimators of steps are told. Discount is from 0 to 1. Signal is
// the component whose values are the rewards of messages; "" for the shaped rewards.
type stepWeights struct {
	Discount, Weight, Outcome float64
	Signal                    string `json:",omitempty"`
}

func (w stepWeights) check(name string) error {
	if !(w.Discount >= 0 && w.Discount <= 1) {
		return group.Invalid("give a number from 0 to 1", "--%s-discount %v", name, w.Discount)
	}
	if math.IsNaN(w.Weight+w.Outcome) || math.IsInf(w.Weight+w.Outcome, 0) {
		return group.Invalid("give finite numbers", "--%s-weight %v, --%[1]s-outcome-weight %v", name, w.Weight, w.Outcome)
	}
	return nil
}

// declare declares the settings of the estimator of a name; what is its own part of an advantage.
func (w *stepWeights) declare(d *plugin.Declarer, name, what string) {
	d.Float(&w.Discount, name+"-discount", "let a reward count `G` times as much for each message before it").ID(name + ".discount")
	d.Float(&w.Weight, name+"-weight", "add "+what+" `X` times").ID(name + ".weight")
	d.Float(&w.Outcome, name+"-outcome-weight", "add the trajectory's advantage `X` times").ID(name + ".outcome-weight")
	d.String(&w.Signal, name+"-signal", "take a message's own reward from the scores' signal `NAME`, not from the shaped rewards").ID(name + ".signal")
}

// returns returns the discounted sums of the rewards of each member's steps, from each on.
func (w stepWeights) returns(steps [][]group.Step) ([][]float64, error) {
	out := make([][]float64, len(steps))
	for i := range steps {
		out[i] = make([]float64, len(steps[i]))
		sum := 0.0
		for k := len(steps[i]) - 1; k >= 0; k-- {
			s := &steps[i][k]
			reward := s.Reward
			if w.Signal != "" {
				at := slices.IndexFunc(s.Signals, func(x formats.Signal) bool { return x.Component == w.Signal })
				if at < 0 {
					return nil, &group.BadMember{Member: i, Problem: fmt.Sprintf("its message %d has no signal %q", s.Message, w.Signal),
						Hint: "score it with a reward of that name that gives each sampled message a signal"}
				}
				reward = s.Signals[at].Value
			}
			sum = group.Finite(reward + float64(w.Discount*sum))
			out[i][k] = sum
		}
	}
	return out, nil
}

// TurnsSettings are the settings of Turns.
type TurnsSettings struct{ stepWeights }

// Declare declares the settings.
func (s *TurnsSettings) Declare(d *plugin.Declarer) {
	s.declare(d, "turns", "a message's own advantage")
}

// Estimator makes the estimator.
func (s *TurnsSettings) Estimator(setup group.Setup) (group.Estimator, error) {
	e := grpo(setup)
	e.Steps, e.Looks = turns{s.stepWeights, setup.NoScale}.steps, group.Looks{Signals: s.Signal != ""}
	return e, s.check("turns")
}

type turns struct {
	stepWeights
	noScale bool
}

func (e turns) steps(of *group.Valid, steps [][]group.Step, out [][]group.Credit) error {
	all, err := e.returns(steps)
	longest := 0
	for i := range all {
		longest = max(longest, len(all[i]))
	}
	column := make([]float64, len(steps))
	at := func(k int) *group.Valid {
		for i := range all {
			if column[i] = 0; k < len(all[i]) {
				column[i] = all[i][k]
			}
		}
		v := &group.Valid{Tolerance: of.Tolerance}
		v.Set(column)
		return v
	}
	std := 0.0
	for k := range longest {
		std = max(std, at(k).StdPop)
	}
	for k := range longest {
		v := at(k)
		for i := range all {
			if k < len(all[i]) {
				out[i][k].Value = e.add(out[i][k].Value, v, all[i][k], std, e.noScale)
			}
		}
	}
	return err
}

// add returns a step's advantage: outcome, that of its trajectory, and how far its return
// is from the mean of v, in units of std.
func (w stepWeights) add(outcome float64, v *group.Valid, r, std float64, noScale bool) float64 {
	own := v.Centred(r)
	switch {
	case v.Flat():
		own = 0
	case !noScale:
		own = v.Scaled(r, std, 1e-6)
	}
	return group.Finite(float64(w.Outcome*outcome) + float64(w.Weight*own))
}
