package estimators

import (
	"sync"

	"github.com/rollmill/rollmill/stages/group"
)

// leaveOneOut returns NeMo-RL's estimator: each reward against the others' mean and
// std. Each member is divided by another std.
func leaveOneOut(noScale bool) group.Estimator {
	return group.Estimator{Uneven: !noScale, Advantages: func(v *group.Valid, out []float64) bool {
		if len(out) == 1 {
			return group.SingletonZero.Advantage(v.Rewards[0], 1, out)
		}
		o := others.Get().(*group.Valid)
		defer others.Put(o)
		for i, r := range v.Rewards {
			v.Others(r, o)
			if noScale || o.Flat() {
				out[i] = o.Centred(r)
			} else {
				out[i] = o.Scaled(r, o.StdSample, 1e-6)
			}
		}
		return true
	}}
}

var others = sync.Pool{New: func() any { return new(group.Valid) }}
