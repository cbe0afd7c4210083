package index

import "context"

// None is the number of no row and no group.
const None = -1

// AdjacentTrajectories returns the rows before and after one in the list of a query, None
// at its ends. Of a row that the list does not have, both are None.
func (x *Index) AdjacentTrajectories(ctx context.Context, q Query, row uint32) (before, after int64, err error) {
	l, err := x.list(ctx, q, x.trajectories())
	before, after = l.adjacent(row)
	return before, after, err
}

// AdjacentGroups returns the groups before and after one, as AdjacentTrajectories does.
func (x *Index) AdjacentGroups(ctx context.Context, q Query, group uint32) (before, after int64, err error) {
	l, err := x.list(ctx, q, x.groupItems())
	before, after = l.adjacent(group)
	return before, after, err
}

func (l list) adjacent(of uint32) (before, after int64) {
	if l.chosen == nil || !l.chosen.has(of) {
		return None, None
	}
	before = None
	found := false
	for _, i := range l.order {
		switch {
		case !l.chosen.has(i):
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
