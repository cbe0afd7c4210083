// Package returns makes returns of step rewards: of the shaped rewards that
// another reward gave the messages the model wrote, one after the other.
//
//	returns:of=moves,gamma=0.95
//	returns:positions,of=moves
//	returns:of=won,gamma=0.9,at=end
//
// With r_0 ... r_T the shaped rewards of the sampled messages of the main path
// and G the shaped rewards that come of them, the discounted return of a
// message and of the trajectory is (Sutton and Barto, Reinforcement Learning,
// 2nd edition, equations 3.8 and 3.9; NeMo Agent Toolkit, finetuning/concepts.md)
//
//	G_t    = r_t + gamma G_t+1  =  r_t + gamma r_t+1 + gamma² r_t+2 + ...
//	reward = G_0
//
// with gamma 1, plain sums, unless said otherwise. Under positions, r_t is the
// value of the position that a move left, from 0 to 1 and above 1 when a win is
// forced or made, and earlier moves count more (NeMo Agent Toolkit,
// examples/finetuning/rl_with_openpipe_art, accuracy_evaluator.py,
// episode_value_from_states; its README shows the exponents the other way
// round, and is not what runs):
//
//	base   = sum of gamma^t min(r_t, 1) / sum of gamma^t
//	reward = base + max of bonus^t max(r_t - 1, 0)
//
// with gamma 0.8 and bonus 0.95 unless said otherwise. G_t is then what message
// t adds to the reward, so that they sum to it; the largest excess belongs to
// the first message that reaches it.
//
// of names a reward computed before in the same run: give it weight 0, as in
// 'moves*0=command:./bin/tictactoe reward', unless its own shaped rewards are
// to be added to these. A dataset keeps only the weighted sum of all shaped
// rewards. Without of, that sum is read, from the scores that are the input,
// and what comes of it takes its place: another gamma over scores stored long
// ago runs no program.
//
// With at=end the reward named, and not its shaped rewards, counts as that of
// the last message: an outcome, discounted over the way to it.
//
// A trajectory without shaped rewards has no return: that is a failure of its
// row, and never 0.
package returns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.Kind{
	Name:  "returns",
	Usage: "[positions,]of=NAME[,gamma=G][,bonus=B][,at=steps|end]; discounted returns of the shaped rewards of a reward before it, or of the stored ones; positions weighs those of a game, early moves most",
	New:   newReward,
}

type reward struct {
	of           string
	atEnd        bool
	gamma, bonus float64
	positions    bool
}

func newReward(s score.Setup) (score.Reward, error) {
	a, err := score.ParseArguments(s.Arguments, "of", "gamma", "bonus", "at")
	if err != nil {
		return nil, err
	}
	r := &reward{of: a.Value("of", ""), atEnd: a.Value("at", "steps") == "end", positions: a.Mode == "positions"}
	gamma := "1"
	if r.positions {
		gamma = "0.8"
	}
	var gammaErr, bonusErr error
	r.gamma, gammaErr = factor("gamma", a.Value("gamma", gamma))
	r.bonus, bonusErr = factor("bonus", a.Value("bonus", "0.95"))
	switch at := a.Value("at", "steps"); {
	case a.Mode != "" && a.Mode != "positions":
		return nil, fmt.Errorf("%q is neither positions nor one of the options of, gamma, bonus, at", a.Mode)
	case at != "steps" && at != "end":
		return nil, fmt.Errorf("at=%s is neither steps nor end", at)
	case a.Has("bonus") && !r.positions:
		return nil, errors.New("bonus= is for positions alone")
	case r.atEnd && r.positions:
		return nil, errors.New("at=end is not for positions")
	case r.atEnd && r.of == "":
		return nil, errors.New("at=end wants of=NAME, the reward to discount")
	case r.of != "" && !s.Partial && !slices.Contains(s.Earlier, r.of):
		return nil, fmt.Errorf("no reward %q is computed before this one (there are: %v)", r.of, s.Earlier)
	}
	return r, errors.Join(gammaErr, bonusErr)
}

// factor is a number above 0, at most 1: with 0 a return would be the first
// step's reward, whatever follows.
func factor(name, text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= 1) {
		return 0, fmt.Errorf("%s=%s is not above 0 and at most 1", name, text)
	}
	return n, nil
}

// Needs are the messages only where steps have to be counted.
func (r *reward) Needs() score.Needs {
	if r.atEnd {
		return score.Text
	}
	return score.Light
}

func (r *reward) Close() error { return nil }

// Reads is the reward that this one is made of.
func (r *reward) Reads() []string {
	if r.of == "" {
		return nil
	}
	return []string{r.of}
}

// Of is the reward whose shaped rewards are read; at=end reads none.
func (r *reward) Of() (name string, shaped bool) { return r.of, !r.atEnd }

func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		values[i] = r.value(row)
	}
	return ctx.Err()
}

func (r *reward) value(row *score.Row) score.Value {
	steps, failure := r.steps(row)
	if failure.Failure != "" {
		return failure
	}
	if r.positions {
		return positions(steps, r.gamma, r.bonus)
	}
	return discounted(steps, r.gamma)
}

// steps are the rewards of the sampled messages.
func (r *reward) steps(row *score.Row) ([]float64, score.Value) {
	if r.of != "" {
		value, known := row.Reward(r.of)
		if !known || value == nil {
			return nil, score.Failed(formats.RewardComponent, "reward %s has no value", r.of)
		}
		if r.atEnd {
			n := len(row.Steps())
			if n == 0 {
				return nil, score.Failed(formats.RewardError, "the model wrote no message")
			}
			return append(make([]float64, n-1), *value), score.Value{}
		}
	}
	if steps := row.Shaped[r.of]; len(steps) > 0 {
		return steps, score.Value{}
	}
	if r.of == "" {
		return nil, score.Failed(formats.RewardComponent, "no shaped rewards are stored")
	}
	return nil, score.Failed(formats.RewardComponent, "reward %s gave no shaped rewards", r.of)
}

func discounted(steps []float64, gamma float64) score.Value {
	out, sum := make([]float64, len(steps)), 0.0
	for t := len(steps) - 1; t >= 0; t-- {
		sum = steps[t] + gamma*sum
		out[t] = sum
	}
	return score.Value{Reward: sum, Shaped: out}
}

func positions(steps []float64, gamma, bonus float64) score.Value {
	out := make([]float64, len(steps))
	weights, most, at := 0.0, 0.0, -1
	weight, fade := 1.0, 1.0
	for t, v := range steps {
		out[t] = weight * min(v, 1)
		weights += weight
		if excess := fade * (v - 1); excess > most {
			most, at = excess, t
		}
		weight *= gamma
		fade *= bonus
	}
	base := 0.0
	for t := range out {
		base += out[t]
		out[t] /= weights
	}
	if at >= 0 {
		out[at] += most
	}
	return score.Value{Reward: base/weights + most, Shaped: out}
}
