package estimators

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Distill is on-policy distillation: each token has the credit of how much more probable a
// teacher finds it than the policy did, minus the reverse KL divergence of that token,
//
//	rl      outcome A + weight (log p(teacher) - log p(policy))
//	ref_kl  outcome A with the loss rl, and the loss ref_kl with this weight
//
// with A as grpo has it, and both log probabilities as they were recorded (tinker-cookbook,
// distillation/train_on_policy.py; slime, backends/megatron_utils/loss.py). With ref_kl the
// trainer computes the difference anew from the teacher's log probabilities, under its current
// weights (prime-rl, algo/opd.py); without an outcome nothing trains with rl.
//
// The teacher's log probabilities are the signals of reward teacher. A is 0 in flat
// groups, which the tokens' own advantages or losses train. Without an outcome, the trajectory's advantage
// is 0 and one generation is enough.
var Distill = group.EstimatorKind{
	Kind: plugin.Kind[group.EstimatorSettings]{Name: "distill", Help: "credit for each token: how much more probable a teacher finds it",
		New: func() group.EstimatorSettings { return &DistillSettings{Weight: 1, Loss: training.LossRL} }},
	Scaled:  true,
	ZeroSum: true,
}

// DistillSettings are the settings of Distill.
type DistillSettings struct {
	Teacher         string
	Weight, Outcome float64
	Loss            string
}

// Declare declares the settings.
func (s *DistillSettings) Declare(d *plugin.Declarer) {
	d.String(&s.Teacher, "distill-teacher", "use the log probabilities of the reward `NAME`").DefaultShown("the only teacher").ID("distill.teacher")
	d.Float(&s.Weight, "distill-weight", "add a token's own advantage `X` times").ID("distill.weight")
	d.Float(&s.Outcome, "distill-outcome-weight", "add the trajectory's advantage `X` times").ID("distill.outcome-weight")
	plugin.Choice(d, &s.Loss, "distill-loss", "write the credit for this `LOSS`: advantages for rl, or a weight and the teacher's log "+
		"probabilities for ref_kl", training.LossRL, training.LossRefKL).ID("distill.loss")
}

// Estimator makes the estimator.
func (s *DistillSettings) Estimator(setup group.Setup) (group.Estimator, error) {
	e := grpo(setup)
	outcome := e.Advantages
	e.Advantages = func(v *group.Valid, out []float64) bool { // the outcome's, so many times
		if s.Outcome == 0 {
			clear(out)
			return true
		}
		ok := outcome(v, out)
		for i := range out {
			out[i] *= s.Outcome
		}
		return ok
	}
	e.Steps, e.Looks = s.steps, group.Looks{Branches: true, Logprobs: true, Signals: true}
	return e, stepWeights{Weight: s.Weight, Outcome: s.Outcome}.check("distill")
}

func (s *DistillSettings) steps(_ *group.Valid, steps [][]group.Step, out [][]group.Credit) error {
	for i := range steps {
		for k := range steps[i] {
			if problem := s.step(&steps[i][k], &out[i][k]); problem != "" {
				return &group.BadMember{Member: i, Problem: fmt.Sprintf("message %d has %s", steps[i][k].Message, problem),
					Hint: "score it with a reward of kind teacher, of another weight than 0 if rows without it are to be left out"}
			}
		}
	}
	return nil
}

// step gives a step its credit, or returns what it lacks.
func (s *DistillSettings) step(at *group.Step, c *group.Credit) (problem string) {
	var teacher []float32
	for _, signal := range at.Signals {
		switch {
		case signal.Values == nil || s.Teacher != "" && signal.Component != s.Teacher:
		case teacher != nil:
			return "signals of several teachers: name one with --distill-teacher"
		default:
			teacher = signal.Values
		}
	}
	switch {
	case teacher == nil && s.Teacher != "":
		return fmt.Sprintf("no signal %q", s.Teacher)
	case teacher == nil:
		return "no teacher's signal"
	case len(teacher) != len(at.Logprobs):
		return fmt.Sprintf("%d log probabilities of a teacher and %d of the policy", len(teacher), len(at.Logprobs))
	}
	if s.Loss == training.LossRefKL {
		if s.Outcome != 0 {
			c.Losses = append(c.Losses, training.MessageLoss{Loss: training.LossRL, Weight: 1})
		}
		c.Losses = append(c.Losses, training.MessageLoss{Loss: training.LossRefKL, Weight: s.Weight, Reference: teacher})
		return ""
	}
	outcome, sum := c.Value, 0.0
	c.Tokens = make([]float32, len(teacher))
	for n := range teacher {
		a := group.Finite(outcome + float64(s.Weight*(float64(teacher[n])-float64(at.Logprobs[n]))))
		c.Tokens[n] = float32(a)
		sum += a / float64(len(teacher))
	}
	c.Value = sum
	return ""
}
