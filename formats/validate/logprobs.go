package validate

import "math"

// LogprobFloor is what vLLM writes for a log probability of minus infinity,
// which JSON cannot carry.
const LogprobFloor = -9999

// Floored returns the first place of a log probability that is at or under the
// floor, or no number; -1 when all are sound. Such a value says that the engine
// does not know: the ratio that a trainer would compute with it means nothing.
func Floored(logprobs []float32) int {
	for i, p := range logprobs {
		if !(p > LogprobFloor) || math.IsInf(float64(p), 0) {
			return i
		}
	}
	return -1
}
