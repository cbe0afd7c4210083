package query

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// PageSize is the number of trajectories or groups on a page.
const PageSize = 100

// Query chooses trajectories or groups, and a page of them.
type Query struct {
	Where string // a condition about trajectories, or about groups; "": all
	Order Order
	Page  int // from 1

	Choices map[string]string // the value of a trajectory, or of one member of a group, by facet; "": any
}

// Page is one page of a list.
type Page struct {
	Items []uint32 // rows, or numbers of groups
	Total int      // on all pages
	Page  int      // from 1; the last if the one asked for does not exist
	Pages int      // at least 1

	Facets []Facet
}

// Facet counts the trajectories, or the groups with one, by a column. Its own choice
// does not limit its counts.
type Facet struct {
	Name   string // status, failure, stop, drop (what curate decided), or the column of a named reward
	Chosen string
	Values []FacetValue // those that appear, the most frequent first
}

// FacetValue is a value of a column and how many have it.
type FacetValue struct {
	Value string
	Count int
}

// List is a list of trajectories, or of groups.
type List struct {
	x        *Index
	name     string
	n        uint32
	key      func(column string) key
	matching func(ctx context.Context, where string) (set, error)
	members  func(i uint32) []uint32 // rows
}

// Trajectories returns the list of the trajectories.
func (x *Index) Trajectories() List {
	one := []uint32{0}
	return List{x, ofRows, x.Rows, x.rowKey, x.matching, func(row uint32) []uint32 { one[0] = row; return one }}
}

// GroupList returns the list of the groups.
func (x *Index) GroupList() List {
	return List{x, "groups", uint32(len(x.table)), x.groupKey, x.groupsMatching, x.membersOf}
}

// choice is what a query chooses, in its order.
type choice struct {
	order  []uint32
	chosen set
	facets []Facet
}

func (l List) choose(ctx context.Context, q Query) (c choice, err error) {
	if c.order, err = l.x.ordered(q.Order, l); err != nil {
		return choice{}, err
	}
	where, err := l.matching(ctx, q.Where)
	if err != nil {
		return choice{}, err
	}
	c.chosen, c.facets = l.x.choose(q, l, where)
	return c, nil
}

// Page returns a page of the list.
func (l List) Page(ctx context.Context, q Query) (*Page, error) {
	c, err := l.choose(ctx, q)
	return c.page(q.Page), err
}

// ordered returns rows or groups in an order, which is remembered.
func (x *Index) ordered(o Order, of List) ([]uint32, error) {
	name := of.name + " " + o.Column
	if o.Descending {
		name += " descending"
	}
	return x.orders.Of(name, func() ([]uint32, error) {
		if k := of.key(o.Column); k != nil {
			return resorted(aligned(of.n), k, o.Descending), nil
		}
		if of.name != ofRows || o.Column != idColumn {
			return nil, formats.Invalid(x.From.Rows.URI(), "click on the head of a column", nil,
				"%s cannot be sorted by %q", of.name, o.Column)
		}
		order := x.byID()
		if o.Descending {
			slices.Reverse(order)
		}
		return order, nil
	})
}

// page cuts a page out of a choice.
func (c choice) page(page int) *Page {
	p := &Page{Total: c.chosen.count(), Facets: c.facets}
	p.Pages = max(1, (p.Total+PageSize-1)/PageSize)
	p.Page = min(max(1, page), p.Pages)
	skip := (p.Page - 1) * PageSize
	for _, i := range c.order {
		if !c.chosen.has(i) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if p.Items = append(p.Items, i); len(p.Items) == PageSize {
			break
		}
	}
	return p
}
