package expr

import (
	"context"

	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Steps is the entry of expressions over the single messages that the model wrote.
var Steps = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "steps",
	Help: "compute an expression for each message that the model wrote, over message, replies, step (from 0), steps and " +
		"all that expr reads; the reward is the sum",
	New: func() score.RewardSettings { return &Settings{steps: true} },
}}

// stepEnvironment is what an expression over a step may read, in addition to
// what one over the whole trajectory may.
type stepEnvironment struct {
	environment
	Message message   `expr:"message"` // that the model wrote
	Replies []message `expr:"replies"` // what came between it and the model's next
	Step    int       `expr:"step"`    // of the model's messages on the main path, from 0
	Steps   int       `expr:"steps"`   // how many these are
}

type steps struct{ *reward }

func (s *steps) Describe() score.Description {
	d := s.reward.Describe()
	d.Detail = score.Text
	return d
}

func (s *steps) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	return s.each(ctx, rows, values, s.value)
}

// value returns the sum of the steps' values; if a step has none, neither has the row.
func (s *steps) value(e *expression.Evaluations, row *score.Row) score.Value {
	var env environment
	if failed := s.environment(row, &env); failed.Failure != "" {
		return failed
	}
	all := stepsOf(row, env)
	if len(all) == 0 {
		return score.Failed(outcomes.RewardError, "the model wrote no message")
	}
	var out score.Value
	for _, step := range all {
		v := run(e, step)
		if v.Failure != "" {
			return score.Failed(v.Failure, "step %d: %s", step.Step, v.Error)
		}
		out.Reward += v.Reward
		out.Shaped = append(out.Shaped, v.Reward)
	}
	return out
}

func stepsOf(row *score.Row, env environment) []stepEnvironment {
	var out []stepEnvironment
	for _, i := range row.Main() {
		m := newMessage(&row.Messages[i])
		if m.Sampled {
			out = append(out, stepEnvironment{environment: env, Message: m, Step: len(out)})
		} else if n := len(out); n > 0 {
			out[n-1].Replies = append(out[n-1].Replies, m)
		}
	}
	for i := range out {
		out[i].Steps = len(out)
	}
	return out
}
