package estimatortest

import (
	"math"

	"pgregory.net/rapid"
)

// zeroSum allows for the rounding of r - mean, which a small std multiplies.
func (s suite) zeroSum(t *rapid.T) {
	n := rapid.IntRange(2, 12).Draw(t, "n")
	r := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n, n).Draw(t, "rewards")
	lengths := Lengths(n).Draw(t, "lengths")
	spread := spreadOf(r)
	if s.estimator.Parts != nil {
		parts := map[string][]float64{}
		for i := range r {
			parts[lengths[i].Part] = append(parts[lengths[i].Part], r[i])
		}
		for _, part := range parts {
			spread = min(spread, spreadOf(part))
		}
	}
	sum, largest, maxAdvantage := 0.0, 0.0, 0.0
	for i, a := range s.credits(t, Members(r), lengths) {
		if math.IsNaN(a[0]) {
			continue
		}
		sum += a[0]
		maxAdvantage = max(maxAdvantage, math.Abs(a[0]))
		largest = max(largest, math.Abs(r[i]))
	}
	if slack := 1e-9 + float64(n)*maxAdvantage*0x1p-48 +
		float64(n)*largest*0x1p-50*max(1, 1/(spread/float64(n)+1e-6)); math.Abs(sum) > slack {
		t.Fatalf("the advantages of %v sum to %v", r, sum)
	}
}

// spreadOf returns the largest distance from the first.
func spreadOf(r []float64) (spread float64) {
	for _, x := range r {
		spread = max(spread, math.Abs(x-r[0]))
	}
	return spread
}
