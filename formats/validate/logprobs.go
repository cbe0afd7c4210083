package validate

import "math"

// LogprobFloor is what vLLM writes for a log probability of minus infinity,
// which JSON cannot represent.
const LogprobFloor = -9999

// Floored returns the index of the first log probability that is NaN or at or
// below the floor; -1 when all are valid. The engine writes such a value when
// it does not know the log probability, so a ratio that a trainer computes from
// it is meaningless.
func Floored(logprobs []float32) int {
	for i, p := range logprobs {
		if !(p > LogprobFloor && p <= math.MaxFloat32) {
			return i
		}
	}
	return -1
}
