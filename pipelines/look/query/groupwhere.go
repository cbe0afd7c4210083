package query

import (
	"context"
	"reflect"

	"github.com/rollmill/rollmill/formats/expression"
)

// GroupRow is what a condition reads of a group.
type GroupRow struct {
	ID        string  `expr:"id"`
	GroupID   string  `expr:"group_id"`
	ExampleID string  `expr:"example_id"` // "" for a group of several
	Epoch     int     `expr:"epoch"`
	StdPop    float64 `expr:"std_pop"` // as Std
	Group
}

func (x *Index) groupRow(number uint32) *GroupRow {
	g, id := x.table[number], x.GroupID(number)
	return &GroupRow{id, id, x.ExampleOf(number), int(x.epoch.of(x.First(number))), g.Std, g}
}

// groupsWhere names the conditions about groups among those that are remembered.
const groupsWhere = "groups: "

// groupsMatching returns the groups for which a condition is true, nil for all.
func (x *Index) groupsMatching(ctx context.Context, where string) (set, error) {
	if where == "" {
		return nil, nil
	}
	return x.finds.Of(groupsWhere+where, func() (set, error) {
		p, err := expression.Condition(where, GroupRow{})
		if err != nil {
			return nil, &WhereError{Where: where, Err: err}
		}
		c := &condition{text: where, p: p}
		return parallel(ctx, uint32(len(x.table)), func(ctx context.Context, from, to uint32, out set) error {
			for g := from; g < to; g++ {
				r := x.groupRow(g)
				if err := c.judge(ctx, r, g, func() string { return r.ID }, out); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// GroupNames returns what a condition about groups can read.
func GroupNames() []string { return namesOf(reflect.TypeFor[GroupRow]()) }
