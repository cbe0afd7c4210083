package estimatortest

import (
	"math"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/group"
)

// Signal is the component of which each step that Lengths draws has a signal.
const Signal = "signal"

// Lengths draws what the base has of a group of n: lengths, some of them 0 but not all,
// parts, and up to three steps each, whose states meet again.
func Lengths(n int) *rapid.Generator[[]group.Length] {
	return rapid.Custom(func(t *rapid.T) []group.Length {
		out := make([]group.Length, n)
		for i := range out {
			out[i].SampledTokens = rapid.Int32Range(0, 4000).Draw(t, "length")
			out[i].Part = rapid.StringMatching("[ab]").Draw(t, "part")
			for k := range rapid.Int32Range(0, 3).Draw(t, "steps") {
				value := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)).Draw(t, "signal")
				out[i].Steps = append(out[i].Steps, group.Step{Message: 2 * k, State: xxh3.HashString128(rapid.StringMatching("[xy]").Draw(t, "state")),
					Logprobs: []float32{-1, -0.5}, Signals: []formats.Signal{{Message: 2 * k, Component: Signal, Value: value, Values: []float32{-2, 0}}}})
			}
		}
		out[rapid.IntRange(0, n-1).Draw(t, "sampled")].SampledTokens++
		return out
	})
}

// rewards draws groups of one to twelve: round numbers with ties, flat groups,
// and any finite number up to the largest.
func rewards() *rapid.Generator[[]float64] {
	return rapid.Custom(func(t *rapid.T) []float64 {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		one := rapid.OneOf(
			rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) / 4 }),
			rapid.Float64Range(-2, 2),
			rapid.Float64Range(-1e12, 1e12),
			rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
		)
		if rapid.IntRange(0, 4).Draw(t, "flat") == 0 {
			one = rapid.Just(one.Draw(t, "reward"))
		}
		return rapid.SliceOfN(one, n, n).Draw(t, "rewards")
	})
}

// Members makes a group of valid members from rewards.
func Members(r []float64) []formats.Member {
	members := make([]formats.Member, len(r))
	for i := range r {
		members[i] = formats.Member{Status: outcomes.StatusOK, Generation: int32(i), Reward: &r[i]}
	}
	return members
}
