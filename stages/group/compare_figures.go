package group

import (
	"cmp"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/ranks"
)

// finish computes what needs all groups.
func (c *Comparison) finish() {
	for i, e := range c.Estimators {
		d := &e.draws[0]
		e.Null, e.Groups, e.Flat = d.failed+d.unscored+d.singleton, d.compared, d.flatGroups()
		slices.Sort(e.masses)
		n := len(e.masses)
		var total, top float64
		for k, mass := range e.masses {
			total += mass
			if k >= n-(n+9)/10 {
				top += mass
			}
		}
		e.TopTenth = Figure(top / total)
		for k, name := range classes {
			e.Classes[k].Solved = name
			e.Classes[k].Mass /= Figure(total)
		}
		for _, a := range c.Estimators[:i] {
			pair := c.agreement(&a.draws[0], d)
			pair.A, pair.B = a.Name, e.Name
			c.Pairs = append(c.Pairs, pair)
		}
		if c.Simulation != nil {
			e.Cut = c.cut(e.draws[1:])
		}
	}
}

// agreement is that of two estimators, or of one before and after a draw.
func (c *Comparison) agreement(x, y *draw) Agreement {
	n := len(x.advantages)
	a, b, weights := make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	differs, compared := 0.0, 0.0
	for i, v := range x.advantages {
		w, weight := y.advantages[i], 1.0
		if v != v || w != w { // NaN
			continue
		}
		if c.tokens != nil {
			weight = c.tokens[i]
		}
		a, b, weights = append(a, float64(v)), append(b, float64(w)), append(weights, weight)
		if compared += weight; cmp.Compare(v, 0) != cmp.Compare(w, 0) {
			differs += weight
		}
	}
	flat := func(d *draw) Figure { return Figure(float64(d.flatGroups()) / float64(d.compared)) }
	return Agreement{Compared: Figure(compared), SignDiffers: Figure(differs / compared), FlatA: flat(x), FlatB: flat(y),
		Spearman: Figure(ranks.Spearman(a, b, weights))}
}

func (a *Agreement) figures() []*Figure {
	return []*Figure{&a.Compared, &a.SignDiffers, &a.Spearman, &a.FlatA, &a.FlatB}
}

// cut compares whole groups with what each draw left of them.
func (c *Comparison) cut(draws []draw) *Agreement {
	out, n := &Agreement{}, [5]float64{}
	means := out.figures()
	for r := range draws[1:] {
		a := c.agreement(&draws[0], &draws[1+r])
		for k, f := range a.figures() {
			if *f == *f { // not NaN
				n[k]++
				*means[k] += (*f - *means[k]) / Figure(n[k])
			}
		}
	}
	for k, mean := range means {
		if n[k] == 0 {
			*mean = Figure(math.NaN())
		}
	}
	return out
}
