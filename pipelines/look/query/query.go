package query

import (
	"math/bits"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
)

// Query chooses trajectories or groups, and a page of them.
type Query struct {
	Where string // a condition about trajectories, or about groups; "": all
	Order Order
	Page  int // from 1

	Choices map[string]string // the value of a trajectory, or of one member of a group, by facet; "": any
}

// Parse returns the query of the flags --where, --sort and --desc, or an error about what no
// dataset has.
func Parse(where, sort string, descending bool) (q Query, err error) {
	if _, err := expression.NewFilter(nil, where); err != nil {
		return q, err
	}
	q = Query{Where: where, Order: OrderOf(sort)}
	q.Order.Descending = q.Order.Descending != (descending && sort != "")
	x := newIndex(&Sources{Base: &dataset.Dataset{}})
	x.complete()
	if l := x.Trajectories(); l.column(q.Order.By) == nil && !strings.HasPrefix(q.Order.By, componentPrefix) {
		if _, err := expression.Compile(q.Order.By, l.fields); err != nil {
			return q, l.unordered(q.Order, err)
		}
	}
	return q, nil
}

func (q Query) chooses() bool { return q.Where != "" || q.Order.By != "" || len(q.Choices) > 0 }

// set is a set of rows or groups.
type set []uint64

func newSet(n uint32) set { return make(set, (int(n)+63)/64) }

func (s set) add(i uint32)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i uint32) bool { return s == nil || s[i/64]&(1<<(i%64)) != 0 } // nil has all

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// first returns the first items of an order that the set has, at most so many.
func (s set) first(order []uint32, limit int) []uint32 {
	out := make([]uint32, 0, min(limit, s.count()))
	for _, i := range order {
		if len(out) == limit {
			break
		}
		if s.has(i) {
			out = append(out, i)
		}
	}
	return out
}
