package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
)

// The number of rows whose columns First holds: few at first, as it may find enough among them.
const (
	firstPart = 1 << 14
	maxPart   = 1 << 18
)

// First returns the numbers of the rows that come first in the order of a query, of those that it
// chooses from a row of a dataset on, and at most so many.
func First(ctx context.Context, d *dataset.Dataset, q Query, from int64, limit int) ([]int64, error) {
	s, err := alone(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, read := range []*dataset.Dataset{s.Rows, s.Base} { // once for each part
		read.KeepFooters(keptFooters)
	}
	best := &top{descending: q.Order.Descending, limit: limit}
	rows := int64(firstPart)
	for ; from < d.Rows && (q.Order.By != "" || len(best.rows) < limit); rows = min(4*rows, maxPart) {
		s.Part = &dataset.Range{First: from, Rows: min(rows, d.Rows-from)}
		if err := best.part(ctx, s, q); err != nil {
			return nil, err
		}
		from += s.Part.Rows
	}
	best.cut()
	out := make([]int64, len(best.rows))
	for i, r := range best.rows {
		out[i] = r.row
	}
	return out, nil
}

// Matching tells of each row of a dataset whether a condition is true; of all for "".
func Matching(ctx context.Context, d *dataset.Dataset, where string) (func(row int64) bool, error) {
	if _, err := expression.NewFilter(nil, where); where == "" || err != nil {
		return func(int64) bool { return true }, err
	}
	rows, err := First(ctx, d, Query{Where: where}, 0, int(d.Rows))
	return func(row int64) bool { _, has := slices.BinarySearch(rows, row); return has }, err
}

// top has the rows that come first.
type top struct {
	descending bool
	limit      int
	rows       []ranked // at most twice the limit
}

type ranked struct {
	row    int64
	null   bool
	number float64
	text   string
}

// part adds the rows of a part of a dataset.
func (t *top) part(ctx context.Context, s *Sources, q Query) error {
	x, err := Build(ctx, s, func(int64) {})
	if err != nil {
		return err
	}
	l := x.Trajectories()
	where, err := l.matching(ctx, q.Where)
	if err != nil {
		return err
	}
	chosen, _ := x.choose(q, l, where)
	by, err := l.sortedBy(ctx, q.Order, chosen)
	if err != nil {
		return err
	}
	for i := range x.Rows {
		if !chosen.has(i) {
			continue
		}
		r := ranked{row: s.Part.First + int64(i)}
		if by.text != nil {
			r.text = by.text(i)
		}
		if by.number != nil {
			r.number = by.number(i)
		}
		if r.null = r.text == "" && (by.number == nil || math.IsNaN(r.number)); r.null || r.text != "" {
			r.number = 0
		}
		if t.rows = append(t.rows, r); len(t.rows) > 2*t.limit {
			t.cut()
		}
	}
	return nil
}

// cut sorts the rows, and leaves the first.
func (t *top) cut() {
	slices.SortFunc(t.rows, func(a, b ranked) int {
		order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
		switch {
		case a.null != b.null && a.null:
			return 1
		case a.null != b.null:
			return -1
		case t.descending:
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.row, b.row))
	})
	t.rows = t.rows[:min(len(t.rows), t.limit)]
}
