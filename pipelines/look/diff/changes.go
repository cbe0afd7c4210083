package diff

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/ranks"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
)

// SignalChange is how a component's signals differ, over messages that have one on both sides.
type SignalChange struct {
	Component  string  `json:"component"`
	Messages   int64   `json:"messages"`
	Moved      int64   `json:"moved"`       // whose signal changed
	MeanChange float64 `json:"mean_change"` // of b - a
}

// signals adds those of a row.
func (d *Difference) signals(a, b []formats.Signal) {
	for _, x := range a {
		at := slices.IndexFunc(b, func(y formats.Signal) bool { return y.Message == x.Message && y.Component == x.Component })
		if at < 0 {
			continue
		}
		c := slices.IndexFunc(d.Signals, func(c SignalChange) bool { return c.Component == x.Component })
		if c < 0 {
			c, d.Signals = len(d.Signals), append(d.Signals, SignalChange{Component: strings.Clone(x.Component)})
		}
		s, change := &d.Signals[c], b[at].Value-x.Value
		s.Messages++
		count(&s.Moved, change != 0)
		s.MeanChange += (change - s.MeanChange) / float64(s.Messages)
	}
}

// signs returns the signs of the advantages in a group, given these or its rewards, and
// reports whether the group is flat: equal rewards have advantages of exactly 0, regardless
// of rounding in their mean.
func signs(values []*float64, advantages bool) (out []int, flat bool) {
	out = make([]int, len(values))
	n, sum := 0, 0.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v != nil {
			n, sum, low, high = n+1, sum+*v, min(low, *v), max(high, *v)
		}
	}
	mean, rounding, least := sum/float64(n), 1e-12*max(math.Abs(low), math.Abs(high)), 2
	if advantages {
		mean, low, high, least = 0, min(low, 0), max(high, 0), 1
	}
	if n < least || low == high {
		return out, n >= least
	}
	for i, v := range values {
		if v != nil && math.Abs(*v-mean) > rounding {
			out[i] = cmp.Compare(*v, mean)
		}
	}
	return out, false
}

// flip ends a group, which has these points, and counts it if its best reward solves it on one side only. Rows
// without a value on either side do not count.
func (d *Difference) flip(m Mover, points [][2]float64, o DiffOptions, rewards bool) {
	d.ends = append(d.ends, len(d.Points))
	m.A, m.B = math.Inf(-1), math.Inf(-1)
	for _, p := range points {
		m.A, m.B = max(m.A, p[0]), max(m.B, p[1])
	}
	if !rewards || (m.A >= o.Solved) == (m.B >= o.Solved) {
		return
	}
	if d.Flipped++; len(d.Flips) < o.Movers {
		d.Flips = append(d.Flips, m)
	}
}

func (d *Difference) sums() {
	if len(d.Points) == 0 {
		return
	}
	var a, b, moved float64
	var changes clusters.Clusters
	var as, bs []float64
	ends := d.ends
	for i, p := range d.Points {
		for ; ends[0] == i; ends = ends[1:] {
			changes.End()
		}
		as, bs = append(as, p[0]), append(bs, p[1])
		a, b, moved = a+p[0], b+p[1], moved+math.Abs(p[1]-p[0])
		changes.Add(p[1] - p[0])
	}
	changes.End()
	d.ChangeStdErr = changes.Err()
	n := float64(len(d.Points))
	d.MeanA, d.MeanB, d.MeanMovement = new(a/n), new(b/n), new(moved/n)
	if rho := ranks.Spearman(as, bs); !math.IsNaN(rho) {
		d.Spearman = &rho
	}
}
