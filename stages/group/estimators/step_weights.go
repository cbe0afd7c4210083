package estimators

import (
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

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
