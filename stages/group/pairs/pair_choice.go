package pairs

import (
	"cmp"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/training"
)

// option is a possible pair: indexes of the better and the worse one.
type option struct {
	better, worse int
	margin        float64
}

// options lists the pairs that the mode allows, best first. Scores are finite.
// refuse is called with the fact for each pair that scores alone rule out.
func (p *Settings) options(scores []float64, refuse func(fact string)) []option {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	var out []option
	add := func(i, j int) {
		o := option{order[i], order[j], max(-math.MaxFloat64, min(scores[order[i]]-scores[order[j]], math.MaxFloat64))}
		switch {
		case !p.nat && !p.Ties && training.Flat(scores[o.worse], scores[o.better], p.tolerance):
			refuse(factPairsTie)
		case o.margin < p.Margin:
			refuse(factPairsMargin)
		default:
			out = append(out, o)
		}
	}
	n := len(order)
	switch p.Mode {
	case Exhaustive:
		for i := range n {
			for j := i + 1; j < n; j++ {
				add(i, j)
			}
		}
		slices.SortStableFunc(out, func(a, b option) int { return cmp.Compare(b.margin, a.margin) })
	case BestWorst:
		if n > 1 {
			add(0, n-1)
		}
	case TopK:
		for i := range min(p.Top, n/2) {
			add(i, n-1-i)
		}
	}
	return out
}
