package inspect

import (
	"cmp"
	"math"
	"slices"
)

// signs returns the signs of the advantages in a group, and reports whether the
// group is flat: equal rewards have advantages of exactly 0, regardless of rounding
// in their mean.
func signs(values []*float64) (out []int, flat bool) {
	out = make([]int, len(values))
	n, sum := 0, 0.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v != nil {
			n, sum, low, high = n+1, sum+*v, min(low, *v), max(high, *v)
		}
	}
	if n < 2 || low == high {
		return out, n >= 2
	}
	mean := sum / float64(n)
	rounding := 1e-12 * max(math.Abs(low), math.Abs(high))
	for i, v := range values {
		if v != nil && math.Abs(*v-mean) > rounding {
			out[i] = cmp.Compare(*v, mean)
		}
	}
	return out, false
}

// flip ends a group, and counts it if its best reward solves it on one side only. Rows
// without a value on either side do not count.
func (d *Difference) flip(m Mover, o DiffOptions) {
	first := 0
	if n := len(d.ends); n > 0 {
		first = d.ends[n-1]
	}
	d.ends = append(d.ends, len(d.points))
	m.A, m.B = math.Inf(-1), math.Inf(-1)
	for _, p := range d.points[first:] {
		m.A, m.B = max(m.A, p.A), max(m.B, p.B)
	}
	if (m.A >= o.Solved) == (m.B >= o.Solved) {
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
	var changes Clusters
	ends := d.ends
	for i, p := range d.points {
		for ; ends[0] == i; ends = ends[1:] {
			changes.End()
		}
		a, b, moved = a+p.A, b+p.B, moved+math.Abs(p.B-p.A)
		changes.Add(p.B - p.A)
	}
	changes.End()
	d.ChangeStdErr = changes.Err()
	n := float64(len(d.points))
	a, b, moved = a/n, b/n, moved/n
	d.MeanA, d.MeanB, d.MeanMovement = &a, &b, &moved
	if rho, ok := spearman(d.points); ok {
		d.Spearman = &rho
	}
}

// spearman returns the correlation of the ranks.
func spearman(points []Point) (float64, bool) {
	x := ranks(points, func(p Point) float64 { return p.A })
	y := ranks(points, func(p Point) float64 { return p.B })
	mean := float64(len(points)+1) / 2
	var xy, xx, yy float64
	for i := range x {
		dx, dy := x[i]-mean, y[i]-mean
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return xy / math.Sqrt(xx*yy), true
}

// ranks returns the ranks, counted from 1. Equal values have the mean of their
// ranks.
func ranks(points []Point, value func(Point) float64) []float64 {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(value(points[i]), value(points[j])) })
	out := make([]float64, len(points))
	for first := 0; first < len(order); {
		end := first + 1
		for end < len(order) && value(points[order[end]]) == value(points[order[first]]) {
			end++
		}
		for _, i := range order[first:end] {
			out[i] = float64(first+1+end) / 2
		}
		first = end
	}
	return out
}
