package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
)

// First returns the numbers of the rows that come first in the order of a query, of those that it
// chooses from a row of a dataset on, and at most so many.
func First(ctx context.Context, d *dataset.Dataset, q Query, from int64, limit int) ([]int64, error) {
	type ranked struct {
		row int64
		place
	}
	var best []ranked // at most twice the limit
	cut := func() {
		slices.SortFunc(best, func(a, b ranked) int {
			return cmp.Or(q.Order.compare(a.place, b.place), cmp.Compare(a.row, b.row))
		})
		best = best[:min(len(best), limit)]
	}
	for r, err := range rowsFrom(ctx, d, q, dataset.Range{First: from, Rows: d.Rows - from}, nil) {
		if err != nil {
			return nil, err
		}
		if best = append(best, ranked{r.Number, r.place}); len(best) >= limit && q.Order.By == "" {
			break
		}
		if len(best) > 2*limit {
			cut()
		}
	}
	cut()
	out := make([]int64, len(best))
	for i, r := range best {
		out[i] = r.row
	}
	return out, nil
}

// Before reports whether one row comes before another in the order of the query, which yielded both.
func (q Query) Before(a, b *Row) bool { return q.Order.compare(a.place, b.place) < 0 }

// place is where an order puts a row.
type place struct {
	null   bool
	number float64
	text   string
}

func (o Order) compare(a, b place) int {
	order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
	switch {
	case a.null != b.null && a.null:
		return 1
	case a.null != b.null:
		return -1
	case o.Descending:
		return -order
	}
	return order
}

// placeOf returns the place of a value.
func (c *column) placeOf(i uint32) (p place) {
	if c.text != nil {
		p.text = c.text(i)
	}
	if c.number != nil {
		p.number = c.number(i)
	}
	if p.null = p.text == "" && (c.number == nil || math.IsNaN(p.number)); p.null || p.text != "" {
		p.number = 0
	}
	return p
}

// The number of rows of a part: few at first, as a query may find enough among them.
const (
	firstPart = 1 << 14
	maxPart   = 1 << 18
)

// part is what a query says of adjacent rows, whose light columns are in memory.
type part struct {
	s      *Sources
	q      Query
	chosen set
	by     *column
	absent []string // what the condition read, and no row of any part had
	orders List     // of the last part
	none   []string // what the order read, and no chosen row of any part had
}

// has reports whether the query chooses a row, and sets its place. Rows ascend.
func (p *part) has(ctx context.Context, r *Row) (bool, error) {
	if !p.q.chooses() {
		return true, nil
	}
	if of := p.s.Part; of == nil || r.Number >= of.First+of.Rows {
		if err := p.next(ctx, r.Number); err != nil {
			return false, err
		}
	}
	i := uint32(r.Number - p.s.Part.First)
	if !p.chosen.has(i) {
		return false, nil
	}
	r.place = p.by.placeOf(i)
	return true, nil
}

// next reads the part that begins with a row.
func (p *part) next(ctx context.Context, row int64) error {
	rows, first := int64(firstPart), p.s.Part == nil
	if !first {
		rows = min(4*p.s.Part.Rows, maxPart)
	}
	p.chosen, p.by = nil, nil // the last part's columns may go
	p.s.Part = &dataset.Range{First: row, Rows: min(rows, p.s.Rows.Rows-row)}
	x, err := Build(ctx, p.s, func(int64) {})
	if err != nil {
		return err
	}
	l := x.Trajectories()
	where, err := l.matching(ctx, p.q.Where)
	if err != nil {
		return err
	}
	p.absent = common(p.absent, where.absent, first)
	if p.s.Part.Rows == p.s.Rows.Rows && p.absent != nil {
		return absent(p.q.Where, p.absent)
	}
	p.chosen, _ = x.choose(p.q, l, where.set)
	if p.by, err = l.sortedBy(ctx, p.q.Order, p.chosen); err == nil && p.chosen.count() > 0 {
		p.none, p.orders = common(p.none, p.by.absent, p.orders.x == nil), l
	}
	return err
}

// refused is the error of a query that read what none of the rows has.
func (p *part) refused() error {
	return cmp.Or(absent(p.q.Where, p.absent), p.orders.notAbsent(p.q.Order, p.none))
}

// common returns the names that both have, or the second's alone of the first part.
func common(of, names []string, first bool) []string {
	if first {
		return names
	}
	return slices.DeleteFunc(of, func(name string) bool { return !slices.Contains(names, name) })
}
