package rewards

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// Returns computes returns from step rewards: the shaped rewards that
// another reward gave to the messages the model wrote, in order.
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
// with gamma 1, plain sums, unless said otherwise. Under positions, r_t is the value of the
// position that a move left, from 0 to 1 and above 1 when a win is forced or made, and earlier
// moves count more (NeMo Agent Toolkit, examples/finetuning/rl_with_openpipe_art,
// accuracy_evaluator.py, episode_value_from_states; its README shows the exponents the other way
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
// 'moves*0=command:./bin/tictactoe reward', unless its own shaped rewards
// should be added to these. A dataset keeps only the weighted sum of all shaped
// rewards. Without of, that sum is read, from the scores that are the input,
// and the result replaces it: another gamma over stored scores runs no program.
//
// With at=end the named reward, and not its shaped rewards, counts as that of
// the last message: an outcome, discounted over the steps to it.
//
// A trajectory without shaped rewards has no return: that is a failure of its row, and never 0.
var Returns = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "returns",
	Help: "compute discounted returns of the shaped rewards of an earlier reward, or of the stored ones",
	New:  func() score.RewardSettings { return &ReturnsSettings{At: atSteps} },
}}

const asPositions = "positions"

// What is discounted.
const (
	atSteps = "steps"
	atEnd   = "end"
)

type ReturnsSettings struct {
	Mode  string // asPositions, or "" for discounted returns
	Of    string // "": the stored shaped rewards
	Gamma *float64
	Bonus *float64
	At    string
}

func (s *ReturnsSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode",
		"treat shaped rewards as the values of a game's `positions`, with the most weight on early moves",
		asPositions).FirstInSpec()
	d.String(&s.Of, "of", "read the shaped rewards of the reward `NAME`, computed before in the same run").
		DefaultShown("the stored ones")
	d.OptionalFloat(&s.Gamma, "gamma", "discount by this `FACTOR`, above 0 and at most 1").DefaultShown("1; with positions 0.8")
	d.OptionalFloat(&s.Bonus, "bonus", "discount values above 1 by this `FACTOR`, with positions").DefaultShown("0.95")
	plugin.Choice(d, &s.At, "at",
		"discount from this `PLACE`: steps, each with its shaped reward; or end, where the reward named by of counts as "+
			"the last step's", atSteps, atEnd)
}

func (s *ReturnsSettings) Reward(setup score.Setup) (score.Reward, error) {
	r := &returnsReward{of: s.Of, atEnd: s.At == atEnd, gamma: 1, bonus: 0.95, positions: s.Mode == asPositions}
	if r.positions {
		r.gamma = 0.8
	}
	switch {
	case s.Bonus != nil && !r.positions:
		return nil, errors.New("bonus= is for positions only")
	case r.atEnd && r.positions:
		return nil, errors.New("at=end cannot be used with positions")
	case r.atEnd && r.of == "":
		return nil, errors.New("at=end needs of=NAME, the reward to discount")
	case r.of != "" && !setup.Partial && !slices.Contains(setup.Known, r.of):
		return nil, fmt.Errorf("no reward %q is computed before this one (there are: %v)", r.of, setup.Known)
	}
	d := score.Description{Detail: score.Light, Shaped: &r.of}
	if r.of != "" {
		d.Reads = []string{r.of}
	}
	if r.atEnd { // it reads no shaped rewards, but counts steps
		d.Detail, d.Shaped = score.Text, nil
	}
	return newOfRow(d, r.value), errors.Join(setFactor(&r.gamma, "gamma", s.Gamma), setFactor(&r.bonus, "bonus", s.Bonus))
}

type returnsReward struct {
	of           string
	atEnd        bool
	gamma, bonus float64
	positions    bool
}

// setFactor sets a factor to a number above 0 and at most 1, if it was given:
// with 0 a return would be the first step's reward, whatever follows.
func setFactor(factor *float64, name string, given *float64) error {
	if given == nil {
		return nil
	}
	if *factor = *given; !(*given > 0 && *given <= 1) {
		return fmt.Errorf("%s=%v is not above 0 and at most 1", name, *given)
	}
	return nil
}

func (r *returnsReward) value(row *score.Row) score.Value {
	steps, failure := r.steps(row)
	if failure.Failure != "" {
		return failure
	}
	if r.positions {
		return positions(steps, r.gamma, r.bonus)
	}
	return discounted(steps, r.gamma)
}

// steps returns the rewards of the sampled messages.
func (r *returnsReward) steps(row *score.Row) ([]float64, score.Value) {
	if r.of != "" {
		value, known := row.Reward(r.of)
		if !known || value == nil {
			return nil, score.Failed(outcomes.RewardComponent, "reward %s has no value", r.of)
		}
		if r.atEnd {
			n := len(row.Steps())
			if n == 0 {
				return nil, score.Failed(outcomes.RewardError, "the model wrote no message")
			}
			return append(make([]float64, n-1), *value), score.Value{}
		}
	}
	if steps := row.Shaped[r.of]; len(steps) > 0 {
		return steps, score.Value{}
	}
	if r.of == "" {
		return nil, score.Failed(outcomes.RewardComponent, "no shaped rewards are stored")
	}
	return nil, score.Failed(outcomes.RewardComponent, "reward %s gave no shaped rewards", r.of)
}

func discounted(steps []float64, gamma float64) score.Value {
	out, sum := make([]float64, len(steps)), 0.0
	for t := len(steps) - 1; t >= 0; t-- {
		sum = steps[t] + float64(gamma*sum)
		out[t] = sum
	}
	return score.Value{Reward: sum, Shaped: out}
}

func positions(steps []float64, gamma, bonus float64) score.Value {
	out := make([]float64, len(steps))
	weights, highest, at := 0.0, 0.0, -1
	weight, fade := 1.0, 1.0
	for t, v := range steps {
		out[t] = weight * min(v, 1)
		weights += weight
		if excess := fade * (v - 1); excess > highest {
			highest, at = excess, t
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
		out[at] += highest
	}
	return score.Value{Reward: base/weights + highest, Shaped: out}
}
