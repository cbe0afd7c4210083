package estimators

import (
	"math"

	"github.com/rollmill/rollmill/stages/group"
)

// advantages is Estimator.Advantages.
type advantages func(v *group.Valid, out []float64) bool

// byPart computes the advantages of each part as of a group; NaN where there are none.
func byPart(of advantages, v *group.Valid, out []float64) (some bool) {
	parts := map[string][]int{}
	for i := range v.Rewards {
		parts[v.Lengths[i].Part] = append(parts[v.Lengths[i].Part], i)
	}
	for _, members := range parts {
		part := group.Valid{Tolerance: v.Tolerance}
		for _, i := range members {
			part.Rewards = append(part.Rewards, v.Rewards[i])
		}
		part.Set(part.Rewards)
		own := make([]float64, len(members))
		has := unlessFlat(of, &part, own)
		some = some || has
		for k, i := range members {
			if out[i] = own[k]; !has {
				out[i] = math.NaN()
			}
		}
	}
	return some
}

// unlessFlat computes advantages; those of a flat group of two or more are 0.
func unlessFlat(of advantages, v *group.Valid, out []float64) bool {
	if len(out) > 1 && v.Flat() {
		clear(out)
		return true
	}
	return of(v, out)
}
