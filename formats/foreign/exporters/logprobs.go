package exporters

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// Logprobs returns log probabilities for a form whose JSON has no infinities:
// one that is not finite becomes the value that vLLM sends in its place, and
// changed is true.
func Logprobs(list []float32) (out jsontext.Floats, changed bool) {
	finite := func(f float32) bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }
	if !slices.ContainsFunc(list, func(f float32) bool { return !finite(f) }) {
		return list, false
	}
	out = slices.Clone(list)
	for i, f := range out {
		if !finite(f) {
			out[i] = validate.LogprobFloor
		}
	}
	return out, true
}
