package query

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
)

// How the texts of a page's rows are read.
const (
	readAcross = 128 << 10 // bytes of rows between two that are read in one go
	textReads  = 8         // at a time
)

// Texts calls f with columns of rows of a dataset, which are in any order; f is called by one
// goroutine at a time and in another order.
func Texts[R int64 | uint32](ctx context.Context, d *dataset.Dataset, rows []R, f func(row R, of *Row), columns ...string) error {
	apart := R(max(1, readAcross*d.Rows/max(1, d.Bytes)))
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(textReads)
	for near := range Near(sorted, apart) {
		all.Go(func() error {
			for r, err := range rowsOf(ctx, d, d, RangeOf(near), columns) {
				if err != nil {
					return err
				}
				if _, wanted := slices.BinarySearch(near, R(r.Number)); wanted {
					mu.Lock()
					f(R(r.Number), r)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// Near yields rows in pieces that are worth reading in one go: those that ascend by at most so many.
func Near[R int64 | uint32](rows []R, gap R) iter.Seq[[]R] {
	return func(yield func([]R) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n] > rows[n-1] && rows[n]-rows[n-1] <= gap {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// RangeOf returns the range of ascending rows.
func RangeOf[R int64 | uint32](rows []R) dataset.Range {
	return dataset.Range{First: int64(rows[0]), Rows: int64(rows[len(rows)-1]-rows[0]) + 1}
}

// rowFiller returns what an expression reads of a row, and sets it to that of a row, except
// for columns that the index does not have.
func (x *Index) rowFiller(reads func(string) bool) (any, func(row uint32)) {
	r := &expression.Row{}
	var set []func(uint32)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[expression.Row]()) {
		name := f.Tag.Get("expr")
		c, field := x.columns[name], reflect.ValueOf(r).Elem().FieldByIndex(f.Index)
		switch {
		case c == nil || !reads(name):
		case c.number == nil:
			set = append(set, func(row uint32) { field.SetString(c.text(row)) })
		case field.CanInt():
			set = append(set, func(row uint32) { field.SetInt(int64(c.number(row))) })
		default:
			set = append(set, func(row uint32) { field.SetFloat(c.number(row)) })
		}
	}
	if reads("rewards") {
		r.Rewards = map[string]float64{}
		set = append(set, func(row uint32) {
			clear(r.Rewards)
			for _, c := range x.components {
				if v := c.values[row]; v == v { // not NaN
					r.Rewards[c.name] = v
				}
			}
		})
	}
	return r, func(row uint32) {
		for _, f := range set {
			f(row)
		}
	}
}

// payloads yields the rows, with what the index does not have of each in r.
func (x *Index) payloads(ctx context.Context, columns []string, r *expression.Row) iter.Seq2[uint32, error] {
	return func(yield func(uint32, error) bool) {
		row := uint32(0)
		for t, err := range rowsOf(ctx, x.From.Base, x.From.Base, x.From.rows(), columns) {
			if err == nil {
				r.Answer, r.Messages, r.Calls, r.Metadata = t.Answer, len(t.Messages), len(t.Calls), nil
				_ = json.Unmarshal([]byte(t.Metadata), &r.Metadata) // anything but an object has no fields
			}
			if !yield(row, err) || err != nil {
				return
			}
			row++
		}
	}
}

// TrajectoryNames returns what an expression about trajectories can read.
func TrajectoryNames() []string { return namesOf(reflect.TypeFor[expression.Row]()) }

func namesOf(t reflect.Type) (out []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("expr"); name != "" {
			out = append(out, name)
		}
	}
	return out
}
