package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// top collects the rows that come first by their keys, in bounded memory. Rows
// without a key come last.
type top struct {
	desc  bool
	limit int
	rows  []ranked // at most twice the limit
}

type ranked struct {
	row    int64
	null   bool
	number float64
	text   string
}

func (t *top) add(row int64, key any) error {
	r := ranked{row: row}
	switch v := key.(type) {
	case nil:
		r.null = true
	case int:
		r.number = float64(v)
	case float64:
		r.number, r.null = v, math.IsNaN(v)
	case string:
		r.text, r.null = strings.Clone(v), v == ""
	default:
		return misuse{"sort by a number or a text", fmt.Sprintf("a value of type %T has no order", key)}
	}
	if t.rows = append(t.rows, r); len(t.rows) > 2*t.limit {
		t.rows = t.first()
	}
	return nil
}

func (t *top) first() []ranked {
	slices.SortFunc(t.rows, func(a, b ranked) int {
		order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
		switch {
		case a.null != b.null && a.null:
			return 1
		case a.null != b.null:
			return -1
		case t.desc:
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.row, b.row))
	})
	return t.rows[:min(len(t.rows), t.limit)]
}
