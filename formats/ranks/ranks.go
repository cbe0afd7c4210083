// Package ranks correlates values by their ranks.
package ranks

import (
	"cmp"
	"math"
	"slices"
)

// Spearman returns Spearman's rank correlation of x and y: Pearson's of their ranks, equal
// values at the mean of theirs. It is NaN unless both have two different values. (Correlation
// of gonum's stat, which is Pearson's, would link 2 MB of linear algebra.)
func Spearman(x, y []float64) float64 {
	a, b := centred(x), centred(y)
	var xy, xx, yy float64
	for i := range a {
		xy, xx, yy = xy+float64(a[i]*b[i]), xx+float64(a[i]*a[i]), yy+float64(b[i]*b[i])
	}
	return xy / math.Sqrt(xx*yy)
}

// centred returns the ranks less their mean, which is 0 exactly if all are equal.
func centred(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for first, end := 0, 0; first < len(order); first = end {
		for end < len(order) && values[order[end]] == values[order[first]] {
			end++
		}
		for _, i := range order[first:end] {
			ranks[i] = float64(first+end-len(order)) / 2
		}
	}
	return ranks
}
