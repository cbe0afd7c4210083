package query

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/expression"
)

// PageSize is the number of trajectories or groups on a page.
const PageSize = 100

// Page is one page of a list.
type Page struct {
	Items []uint32 // rows, or numbers of groups
	Total int      // on all pages
	Page  int      // from 1; the last if the one asked for does not exist
	Pages int      // at least 1

	Facets []Facet
}

// List is a list of trajectories, or of groups.
type List struct {
	x       *Index
	name    string
	n       uint32
	fields  any                                                           // what an expression reads of one
	filler  func(reads func(string) bool) (fields any, fill func(uint32)) // sets them
	column  func(name string) *column                                     // that needs no expression, nil for none
	id      func(i uint32) string
	members func(i uint32) []uint32 // rows
}

// ofRows names the list of rows, in errors and among the orders that are remembered.
const ofRows = "trajectories"

// Trajectories returns the list of the trajectories.
func (x *Index) Trajectories() List {
	one := []uint32{0}
	member := func(row uint32) []uint32 { one[0] = row; return one }
	column := func(name string) *column { return x.columns[name] }
	return List{x, ofRows, x.Rows, expression.Row{}, x.rowFiller, column, x.ids.of, member}
}

// GroupList returns the list of the groups.
func (x *Index) GroupList() List {
	return List{x, "groups", uint32(x.Groups()), GroupRow{}, x.groupFiller, x.groupColumn, x.GroupID, x.membersOf}
}

// choose returns an order, what a query chooses of it, and the facets.
func (l List) choose(ctx context.Context, q Query) (order []uint32, chosen set, facets []Facet, err error) {
	if order, err = l.ordered(ctx, q.Order); err != nil {
		return nil, nil, nil, err
	}
	where, err := l.matching(ctx, q.Where)
	if err = cmp.Or(err, absent(q.Where, where.absent)); err != nil {
		return nil, nil, nil, err
	}
	chosen, facets = l.x.choose(q, l, where.set)
	return order, chosen, facets, nil
}

// Page returns a page of the list.
func (l List) Page(ctx context.Context, q Query) (*Page, error) {
	order, chosen, facets, err := l.choose(ctx, q)
	p := &Page{Total: chosen.count(), Facets: facets}
	p.Pages = max(1, (p.Total+PageSize-1)/PageSize)
	p.Page = min(max(1, q.Page), p.Pages)
	p.Items = chosen.first(order, p.Page*PageSize)[(p.Page-1)*PageSize:]
	return p, err
}

// ordered returns rows or groups in an order, which is remembered unless it is their own.
func (l List) ordered(ctx context.Context, o Order) ([]uint32, error) {
	if o == (Order{}) {
		return ascending(l.n), nil
	}
	return l.x.orders.Of(l.name+" "+o.String(), func() ([]uint32, error) {
		c, err := l.sortedBy(ctx, o, nil)
		if err == nil {
			err = l.notAbsent(o, c.absent)
		}
		switch {
		case err != nil:
			return nil, err
		case c.number != nil || c.code != nil:
			return resorted(ascending(l.n), c.key(), o.Descending), nil
		}
		order := l.x.byID()
		if o.Descending {
			slices.Reverse(order)
		}
		return order, nil
	})
}

// None is the number of no row and no group.
const None = -1

// Adjacent returns the rows or groups before and after one in the list of a query, None at its
// ends. Of one that the list does not have, both are None.
func (l List) Adjacent(ctx context.Context, q Query, of uint32) (before, after int64, err error) {
	order, chosen, _, err := l.choose(ctx, q)
	items := chosen.first(order, len(order))
	at := slices.Index(items, of)
	before, after = None, None
	if at > 0 {
		before = int64(items[at-1])
	}
	if at >= 0 && at+1 < len(items) {
		after = int64(items[at+1])
	}
	return before, after, err
}

// Names returns what an expression about the list can read.
func (l List) Names() (out []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(l.fields)) {
		if name := f.Tag.Get("expr"); name != "" {
			out = append(out, name)
		}
	}
	return out
}
