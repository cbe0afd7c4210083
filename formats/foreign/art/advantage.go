package art

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats"
)

// Advantages returns what ART will compute from the rewards of a group: the
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

// Drift compares the dataset's advantages with those that a trainer will
// compute from the members it receives: when members of a group were dropped,
// the mean differs.
type Drift struct {
	Trainer string // default ART
	Compat  string // the trainer's value of group's --compat; default art
	Scale   bool   // ART's scale_rewards
	Sample  bool   // divide by the sample standard deviation, as slime does

	groups, differing, without int64
	worst                      float64
	example                    string
}

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
	theirs := Advantages(rewards, d.Scale)
	if n := float64(len(rewards)); d.Sample && d.Scale && n > 1 {
		theirs = Advantages(rewards, false)
		square := 0.0
		for _, a := range theirs {
			square += a * a / (n - 1)
		}
		for i := range theirs {
			theirs[i] /= math.Sqrt(square) + 1e-6
		}
	}
	for i, theirs := range theirs {
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

// Notes returns, as text for users, what differs in the training.
func (d *Drift) Notes() []string {
	var out []string
	trainer, compat := cmp.Or(d.Trainer, "ART"), cmp.Or(d.Compat, "art")
	if d.differing > 0 {
		out = append(out, fmt.Sprintf("%s recomputes advantages from the members it receives: in %d of %d groups they "+
			"differ from the dataset's (by up to %.3g, trajectory %s); members were dropped, or group used another "+
			"estimator than --compat %s",
			trainer, d.differing, d.groups, d.worst, d.example, compat))
	}
	if d.without > 0 {
		out = append(out, fmt.Sprintf("%d of %d groups have members without an advantage; %s will compute its own",
			d.without, d.groups, trainer))
	}
	return out
}
