package diff

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/ranks"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
	"github.com/rollmill/rollmill/pipelines/look/query"
)

// Mover is a row whose reward changed much.
type Mover struct {
	Row          int64   `json:"row"`
	TrajectoryID string  `json:"trajectory_id"`
	ExampleID    string  `json:"example_id"`
	Epoch        int32   `json:"epoch"`
	Generation   int32   `json:"generation"`
	A            float64 `json:"a"`
	B            float64 `json:"b"`
	Example      string  `json:"example"`
	Answer       string  `json:"answer"`

	a, b *query.Row
}

// Values returns both values of a named reward.
func (m *Mover) Values(name string) (a, b *float64) {
	a, _ = value(m.a, name)
	b, _ = value(m.b, name)
	return a, b
}

// before reports whether a row is listed before another: by the order, or since it changed more.
func (o *DiffOptions) before(m, n *Mover) bool {
	if o.Query.Order.By != "" {
		return o.Query.Before(m.a, n.a)
	}
	return math.Abs(m.B-m.A) > math.Abs(n.B-n.A)
}

// mover keeps a row if it is among the first that are listed; of equal ones the first rows.
func (d *Difference) mover(m Mover, o *DiffOptions) {
	at := len(d.Movers)
	for at > 0 && o.before(&m, &d.Movers[at-1]) {
		at--
	}
	if at < o.Movers {
		a, b := *m.a, *m.b
		a.Rewards, b.Rewards = slices.Clone(a.Rewards), slices.Clone(b.Rewards)
		m.a, m.b = &a, &b
		d.Movers = slices.Insert(d.Movers, at, m)
		d.Movers = d.Movers[:min(len(d.Movers), o.Movers)]
	}
}

// texts reads the questions and answers of the movers from the trajectories. If these
// are gone, as after prune, there are none.
func (d *Difference) texts(ctx context.Context, b *dataset.Dataset) error {
	if len(d.Movers) == 0 {
		return nil
	}
	base, err := b.OpenBase(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	rows, at := make([]int64, len(d.Movers)), map[int64]*Mover{}
	for i := range d.Movers {
		rows[i] = d.Movers[i].Row
		at[rows[i]] = &d.Movers[i]
	}
	return query.Texts(ctx, base, rows, func(row int64, example, answer string) {
		at[row].Example, at[row].Answer = example, answer
	})
}

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

// flip ends a group, and counts it if its best reward solves it on one side only. Rows
// without a value on either side do not count.
func (d *Difference) flip(m Mover, o DiffOptions, rewards bool) {
	first := 0
	if n := len(d.ends); n > 0 {
		first = d.ends[n-1]
	}
	d.ends = append(d.ends, len(d.points))
	m.A, m.B = math.Inf(-1), math.Inf(-1)
	for _, p := range d.points[first:] {
		m.A, m.B = max(m.A, p.A), max(m.B, p.B)
	}
	if !rewards || (m.A >= o.Solved) == (m.B >= o.Solved) {
		return
	}
	if d.Flipped++; len(d.Flips) < o.Movers {
		d.Flips = append(d.Flips, m)
	}
}

func (d *Difference) sums() {
	if len(d.points) == 0 {
		return
	}
	var a, b, moved float64
	var changes clusters.Clusters
	var as, bs []float64
	ends := d.ends
	for i, p := range d.points {
		for ; ends[0] == i; ends = ends[1:] {
			changes.End()
		}
		as, bs = append(as, p.A), append(bs, p.B)
		a, b, moved = a+p.A, b+p.B, moved+math.Abs(p.B-p.A)
		changes.Add(p.B - p.A)
	}
	changes.End()
	d.ChangeStdErr = changes.Err()
	n := float64(len(d.points))
	a, b, moved = a/n, b/n, moved/n
	d.MeanA, d.MeanB, d.MeanMovement = &a, &b, &moved
	if rho := ranks.Spearman(as, bs); !math.IsNaN(rho) {
		d.Spearman = &rho
	}
}
