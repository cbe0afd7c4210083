package score

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

const maxErrorBytes = 2048 // of an error or a reason of a row

// checked returns a valid value: a finite number, or a failure of the closed
// list with a bounded error.
func checked(v Value) Value {
	reason, parts := clip(v.Reason), v.Parts
	v.Reason = reason
	if v.Failure == "" && !finite(v.Reward) {
		v = Failed(outcomes.RewardNotFinite, "the reward is %v", v.Reward)
	}
	if v.Failure == "" && !finite(v.Shaped...) {
		v = Failed(outcomes.RewardNotFinite, "a shaped reward is not finite: %v", v.Shaped)
	}
	for _, s := range v.Signals {
		if v.Failure == "" && !finite(s.Value) {
			v = Failed(outcomes.RewardNotFinite, "the signal of message %d is %v", s.Message, s.Value)
		}
	}
	if v.Failure == "" {
		return v
	}
	if !slices.Contains(outcomes.RewardFailures, v.Failure) {
		v.Failure = outcomes.RewardError
	}
	return Value{Failure: v.Failure, Error: clip(v.Error), Reason: reason, Parts: parts}
}

// part returns one of a number of parts, as checked does. One that was not given is never 0.
func (v *Value) part(i, of int) Value {
	switch {
	case v.Parts == nil && v.Failure != "":
		return Value{Failure: v.Failure, Error: v.Error}
	case len(v.Parts) != of:
		return Failed(outcomes.RewardError, "the reward gave %d of %d parts", len(v.Parts), of)
	}
	p := &v.Parts[i]
	if p.Value == nil || p.Failure != "" {
		failure, text := cmp.Or(p.Failure, outcomes.RewardError), cmp.Or(p.Error, "it was not given")
		return checked(Value{Failure: failure, Error: text, Reason: p.Reason})
	}
	return checked(Value{Reward: *p.Value, Reason: p.Reason})
}

// plain reports whether the value is a valid number and nothing else, as most are.
func (v *Value) plain() bool {
	return v.Failure == "" && v.Shaped == nil && v.Signals == nil && v.Reason == "" && v.Reward-v.Reward == 0 // not NaN
}

func finite(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) })
}

// clip bounds an error's text. It keeps the end, where programs name the cause.
func clip(text string) string {
	if len(text) > maxErrorBytes {
		text = "..." + text[len(text)-maxErrorBytes:]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// named returns a reward; its value, if there is one, is stored in the buffer.
func named(spec Spec, v Value, to *buffer) formats.NamedReward {
	n := formats.NamedReward{Name: spec.Name, Weight: spec.Weight, Failure: v.Failure, Error: v.Error, Reason: v.Reason}
	if v.Failure == "" {
		n.Value = to.number(v.Reward)
	}
	return n
}

// add adds the thin row of a trajectory whose rewards are all computed.
func (to *buffer) add(r *Row) {
	to.scores = append(to.scores, formats.Score{})
	s, t := &to.scores[len(to.scores)-1], r.Trajectory
	s.TrajectoryID, s.ExampleID, s.Epoch, s.Generation, s.Status = t.TrajectoryID, t.ExampleID, t.Epoch, t.Generation, t.Status
	s.ForkedFrom, s.ForkCall = t.ForkedFrom, t.ForkCall
	if s.Rewards = r.Known; !Scorable(s.Status) {
		s.Failure = outcomes.RewardTrajectory
		return
	}
	s.Signals = r.signals
	sum(s, to)
	if s.Failure == "" {
		if s.ShapedRewards = r.fresh; r.copied != nil && !r.copied.recomputed {
			s.ShapedRewards = r.copied.shaped
		}
	}
}

// sum computes the total of a row's rewards. If only one counts, its failure is the row's.
func sum(s *formats.Score, to *buffer) {
	total, counting, failed := formats.WeightedSum(s.Rewards)
	switch {
	case counting == 0:
		s.Failure, s.Error = outcomes.RewardMissing, "no reward that has a value has a weight other than 0: add one, such as match"
	case failed != nil && counting == 1:
		s.Failure, s.Error = failed.Failure, failed.Error
	case failed != nil:
		s.Failure, s.Error = outcomes.RewardComponent, "reward "+failed.Name+" has no value: "+failed.Failure
	case !finite(total):
		s.Failure, s.Error = outcomes.RewardNotFinite, "the sum of the rewards is not finite"
	default:
		s.Reward = to.number(total)
	}
}

// addShaped adds a component's weighted shaped rewards to a sum.
func addShaped(sum, shaped []float64, weight float64) ([]float64, bool) {
	if shaped == nil || weight == 0 {
		return sum, true
	}
	if sum == nil {
		sum = make([]float64, len(shaped))
	}
	if len(sum) != len(shaped) {
		return sum, false
	}
	for i, s := range shaped {
		sum[i] += float64(weight * s)
	}
	return sum, finite(sum...)
}
