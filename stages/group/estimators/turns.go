package estimators

import (
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
// with A as grpo has it, k the message's place among the sampled ones of the main path, std the
// largest population std of a G(j), and means and stds over the whole group: a trajectory that
// ended before k counts with a return of 0. The std of G(0) alone would be 0, or nearly, where
// only later messages differ. The mean over those that reached k, and their own deviation, as
// MT-GRPO has them (arXiv 2505.11821), depend on when this trajectory stopped: that rewards
// every further turn, as verl#7244 shows. NoScale divides nothing.
var Turns = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "turns", Help: "credit for each message: the group's advantage and the message's return",
		New: func() group.EstimatorSettings { return &TurnsSettings{stepWeights{1, 1, 1, ""}} }},
	Scaled:  true,
	ZeroSum: true,
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
