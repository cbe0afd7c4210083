package query

import "context"

// None is the number of no row and no group.
const None = -1

// Adjacent returns the rows or groups before and after one in the list of a query, None at its
// ends. Of one that the list does not have, both are None.
func (l List) Adjacent(ctx context.Context, q Query, of uint32) (before, after int64, err error) {
	c, err := l.choose(ctx, q)
	before, after = c.adjacent(of)
	return before, after, err
}

func (c choice) adjacent(of uint32) (before, after int64) {
	if c.chosen == nil || !c.chosen.has(of) {
		return None, None
	}
	before = None
	found := false
	for _, i := range c.order {
		switch {
		case !c.chosen.has(i):
		case i == of:
			found = true
		case found:
			return before, int64(i)
		default:
			before = int64(i)
		}
	}
	return before, None
}

// GroupOf returns the number of a group, or false.
func (x *Index) GroupOf(id string) (uint32, bool) {
	n := x.groups.texts.find(id)
	return uint32(max(n, 0)), n >= 0
}
