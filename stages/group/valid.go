package group

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/training"
)

// Valid is an Estimator's view of a group: the rewards of its valid members in
// the base's order, and their statistics. Statistics do not depend on the
// order, to the last bit: they are summed in ascending order.
type Valid struct {
	Rewards []float64 // at least one, all finite
	Lengths []Length  // of the same members; not in components and in Others
	Forks   bool      // they are continuations of one prefix

	Tolerance float64 // relative spread up to which they are flat: the option's, also in parts and components

	Mean      float64 // within [Min, Max], so equal rewards have exactly their value as mean
	StdPop    float64 // divisor n
	StdSample float64 // divisor n-1; 0 for one reward
	Min, Max  float64

	sorted []float64
}

// Set takes over rewards (the slice is kept, not copied) and computes the
// statistics. It allocates only if a group is larger than any before.
func (v *Valid) Set(rewards []float64) {
	v.Rewards = rewards
	v.sorted = append(v.sorted[:0], rewards...)
	slices.Sort(v.sorted)
	n := len(rewards)
	v.Min, v.Max = v.sorted[0], v.sorted[n-1]
	unit := unitOf(max(math.Abs(v.Min), math.Abs(v.Max)))
	v.Mean = min(max(mean(v.sorted, unit), v.Min), v.Max)
	squares := 0.0
	for _, r := range v.sorted {
		d := r/unit - v.Mean/unit
		squares += float64(d * d) // the conversion forbids a fused multiply-add (.ci/fused): the same bits everywhere
	}
	v.StdPop = Finite(math.Sqrt(squares/float64(n)) * unit)
	v.StdSample = 0
	if n > 1 {
		v.StdSample = Finite(math.Sqrt(squares/float64(n-1)) * unit)
	}
}

// unitOf returns the power of two to count in so that neither a sum nor a
// square overflows: 1 for any realistic reward.
func unitOf(largest float64) float64 {
	if largest < 1e150 {
		return 1
	}
	return math.Ldexp(1, 600)
}

// mean sums with Neumaier's compensation, as Python does from 3.12 on.
func mean(sorted []float64, unit float64) float64 {
	sum, lost := 0.0, 0.0
	for _, r := range sorted {
		r /= unit
		next := sum + r
		if math.Abs(sum) >= math.Abs(r) {
			lost += (sum - next) + r
		} else {
			lost += (r - next) + sum
		}
		sum = next
	}
	return (sum + lost) / float64(len(sorted)) * unit
}

// Finite limits results that overflow, as only rewards near the largest float can.
func Finite(x float64) float64 {
	return max(-math.MaxFloat64, min(x, math.MaxFloat64))
}

// Centred returns r - Mean.
func (v *Valid) Centred(r float64) float64 { return Finite(r - v.Mean) }

// Scaled returns (r - Mean) / (std + epsilon).
func (v *Valid) Scaled(r, std, epsilon float64) float64 {
	// halves are exact, and their difference cannot overflow
	return Finite((float64(r/2) - float64(v.Mean/2)) / (float64(std/2) + float64(epsilon/2)))
}

// Second returns the second largest reward; Max again if two have it. There must be two.
func (v *Valid) Second() float64 { return v.sorted[len(v.sorted)-2] }

// Flat reports whether the rewards are equal up to the tolerance.
func (v *Valid) Flat() bool { return training.Flat(v.Min, v.Max, v.Tolerance) }

// Others sets out to the statistics of the rewards without one of value r,
// which must be among two or more. It costs a pass over the group.
func (v *Valid) Others(r float64, out *Valid) {
	at, _ := slices.BinarySearch(v.sorted, r)
	out.Rewards = append(out.Rewards[:0], v.sorted[:at]...)
	out.Rewards = append(out.Rewards, v.sorted[at+1:]...)
	out.Set(out.Rewards)
	out.Tolerance = v.Tolerance
}
