package art

import (
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
)

// Advantages computes what ART will compute of the rewards in a group: the
// distance from the mean, divided by the population standard deviation plus
// 1e-6 when scale is set.
func Advantages(rewards []float64, scale bool) []float64 {
	var mean, square float64
	for _, r := range rewards {
		mean += r / float64(len(rewards))
	}
	for _, r := range rewards {
		square += (r - mean) * (r - mean) / float64(len(rewards))
	}
	out := make([]float64, len(rewards))
	for i, r := range rewards {
		out[i] = r - mean
		if scale {
			out[i] /= math.Sqrt(square) + 1e-6
		}
	}
	return out
}

// Drift compares the dataset's advantages with those that ART will compute
// from the members it receives.
type Drift struct {
	Scale bool // ART's scale_rewards

	groups, differing, without int64
	worst                      float64
	example                    string
}

// Add compares one group.
func (d *Drift) Add(rows []formats.Trajectory) {
	d.groups++
	rewards := make([]float64, len(rows))
	for i := range rows {
		if rows[i].Reward == nil || rows[i].Advantage == nil {
			d.without++
			return
		}
		rewards[i] = *rows[i].Reward
	}
	differs := false
	for i, theirs := range Advantages(rewards, d.Scale) {
		off := math.Abs(theirs - *rows[i].Advantage)
		if off <= 1e-6*max(1, math.Abs(theirs)) {
			continue
		}
		differs = true
		if off > d.worst {
			d.worst, d.example = off, rows[i].TrajectoryID
		}
	}
	if differs {
		d.differing++
	}
}

// Notes says what will mean something else, in words for people.
func (d *Drift) Notes() []string {
	var out []string
	if d.differing > 0 {
		out = append(out, fmt.Sprintf("ART recomputes advantages from the members it receives: in %d of %d groups they will not be the dataset's (by up to %.3g, trajectory %s); members were dropped, or group used another estimator than --compat art",
			d.differing, d.groups, d.worst, d.example))
	}
	if d.without > 0 {
		out = append(out, fmt.Sprintf("%d of %d groups have members without an advantage; ART will compute its own", d.without, d.groups))
	}
	return out
}
