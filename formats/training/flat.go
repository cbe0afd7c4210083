package training

import "math"

// FlatTolerance is the relative spread up to which a group is flat, unless an
// option says otherwise.
const FlatTolerance = 1e-12

// Flat reports whether rewards between min and max are equal up to rounding:
// their spread is at most tolerance times the larger of 1 and the largest
// magnitude. An exact test would treat the rounding noise of a weighted sum as
// a difference, and dividing by that would give huge advantages.
func Flat(min, max, tolerance float64) bool {
	if min == max {
		return true
	}
	scale := math.Max(1, math.Max(math.Abs(min), math.Abs(max)))
	return max/scale-min/scale <= tolerance
}

// AdvantageTolerance is the share of a batch's largest advantage up to which one counts as 0:
// what rounding leaves of equal rewards.
const AdvantageTolerance = 1e-9

// AdvantageSize is how large the advantages are that would train of some trajectories.
type AdvantageSize struct {
	Min, Max float64 // of trajectories; both 0 without any
	Sum      float64 // of trajectories
	Own      bool    // there are any of trajectories
	Parts    float64 // the largest magnitude of messages and tokens
	Loss     bool    // a message has a loss that no advantage multiplies
}

func (s *AdvantageSize) Add(own *float64, messages []MessageAdvantage, losses []MessageLoss) {
	if own != nil {
		if !s.Own {
			s.Min, s.Max, s.Own = *own, *own, true
		}
		s.Min, s.Max, s.Sum = min(s.Min, *own), max(s.Max, *own), s.Sum+*own
	}
	for i := range messages {
		if messages[i].Tokens == nil {
			s.Parts = max(s.Parts, math.Abs(messages[i].Value))
		}
		for _, a := range messages[i].Tokens {
			s.Parts = max(s.Parts, math.Abs(float64(a)))
		}
	}
	for i := range losses {
		s.Loss = s.Loss || losses[i].Loss != LossRL
	}
}

// After returns the largest magnitude, when a batch's step has changed those of trajectories.
func (s *AdvantageSize) After(shift, divisor float64) float64 {
	if !s.Own {
		return s.Parts
	}
	return max(s.Parts, math.Abs((s.Min-shift)/divisor), math.Abs((s.Max-shift)/divisor))
}

// Any reports whether there is anything that could train.
func (s *AdvantageSize) Any() bool { return s.Own || s.Parts > 0 || s.Loss }

// Training is whether training gets anything from trajectories.
type Training int32

// The values are by the advantages that are handed over, which are at most AdvantageTolerance of
// the batch's largest, or not. Of several trajectories the largest value holds.
const (
	TrainsByRewards Training = iota // there are none in the batch: nothing trains if rewards are equal (Flat)
	NoAdvantages                    // of these, as of one that was alone
	TrainsNothing
	TrainsSomething
)
