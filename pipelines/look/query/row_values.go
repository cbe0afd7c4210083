package query

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/rollmill/rollmill/formats/expression"
)

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
