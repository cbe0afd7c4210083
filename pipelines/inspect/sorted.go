package inspect

import (
	"cmp"
	"context"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// ranked is a row and its value in the column that rows are sorted by.
type ranked struct {
	row    int64
	null   bool
	number float64
	text   string
}

// compare orders rows: nulls last in either direction, and equal ones by their number.
func (o Options) compare(a, b ranked) int {
	switch {
	case a.null && !b.null:
		return 1
	case b.null && !a.null:
		return -1
	}
	order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
	if o.Desc {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(a.row, b.row))
}

// sorted returns the selected rows of a range that are first by the column Sort, in
// this order. It holds at most twice as many.
func sorted(ctx context.Context, d *dataset.Dataset, o Options, of dataset.Range) ([]ranked, error) {
	match, next, stop := int64(-1), func() (int64, error, bool) { return 0, nil, false }, func() {}
	if o.Where != "" {
		next, stop = iter.Pull2(matches(ctx, d, o, of))
	}
	defer stop()
	names := []string{o.Sort}
	if o.Failed && o.Table == "" {
		names = append(names, statusColumn)
	}
	var kept []ranked
	err := eachRow(ctx, d, o.Table, names, of, func(row Row) (bool, error) {
		if o.Where != "" {
			var err error
			more := true
			for match < row.Row && more && err == nil {
				match, err, more = next()
			}
			if err != nil || !more {
				return false, err
			}
			if match != row.Row {
				return true, nil
			}
		}
		if o.Failed && row.Is.of(statusColumn) != formats.StatusFailed {
			return true, nil
		}
		r, err := rank(o.Sort, row)
		if kept = append(kept, r); len(kept) > 2*o.Rows {
			slices.SortFunc(kept, o.compare)
			kept = kept[:o.Rows]
		}
		return true, err
	})
	slices.SortFunc(kept, o.compare)
	return kept[:min(len(kept), o.Rows)], err
}

// rank returns the value by which a row is sorted.
func rank(column string, row Row) (ranked, error) {
	r := ranked{row: row.Row}
	v := reflect.ValueOf(row.Is.of(column))
	if v.Kind() == reflect.Pointer {
		if r.null = v.IsNil(); r.null {
			return r, nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		r.text, r.null = strings.Clone(v.String()), v.String() == ""
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			r.number = 1
		}
	case v.CanInt():
		r.number = float64(v.Int())
	case v.CanFloat():
		r.number, r.null = v.Float(), math.IsNaN(v.Float())
	default:
		return r, misuse{"sort by a column of numbers or texts, such as reward", "--sort " + column + ": its values are lists or groups"}
	}
	return r, nil
}
