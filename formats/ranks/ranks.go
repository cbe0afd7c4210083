// Package ranks correlates values by their ranks.
package ranks

import (
	"cmp"
	"math"
	"slices"
)

// Spearman returns Spearman's rank correlation of x and y: Pearson's of their ranks, equal
// values at the mean of theirs. A value counts as often as its weight says. It is NaN unless
// both have two different values with weights above 0. (Correlation of gonum's stat, which
// is Pearson's, would link 2 MB of linear algebra.)
func Spearman(x, y, weights []float64) float64 {
	a, b := centred(x, weights), centred(y, weights)
	var xy, xx, yy float64
	for i, w := range weights {
		xy, xx, yy = xy+float64(w*a[i]*b[i]), xx+float64(w*a[i]*a[i]), yy+float64(w*b[i]*b[i])
	}
	return xy / math.Sqrt(xx*yy)
}

// centred returns the ranks less their mean, which is 0 exactly if all are equal.
func centred(values, weights []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks, below := make([]float64, len(values)), 0.0
	for first, end := 0, 0; first < len(order); first = end {
		tied := 0.0
		for ; end < len(order) && values[order[end]] == values[order[first]]; end++ {
			tied += weights[order[end]]
		}
		for _, i := range order[first:end] {
			ranks[i] = below + float64(tied/2)
		}
		below += tied
	}
	for i := range ranks {
		ranks[i] -= float64(below / 2)
	}
	return ranks
}
