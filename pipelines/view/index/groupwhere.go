package index

import (
	"context"
	"reflect"

	"github.com/rollmill/rollmill/formats/expression"
)

// GroupRow is what a condition reads of a group, named as the columns of _groups;
// statistics are of its valid members, NaN if there is none.
type GroupRow struct {
	ID          string  `expr:"id"`
	GroupID     string  `expr:"group_id"`
	ExampleID   string  `expr:"example_id"` // "" for a group of several
	Epoch       int     `expr:"epoch"`
	Count       int     `expr:"count"`
	Valid       int     `expr:"valid"`
	Failed      int     `expr:"failed"`
	Unscored    int     `expr:"unscored"`
	Kept        int     `expr:"kept"`
	Dropped     int     `expr:"dropped"`
	Mean        float64 `expr:"mean"`
	Std         float64 `expr:"std"` // divisor n
	StdPop      float64 `expr:"std_pop"`
	Min         float64 `expr:"min"`
	Max         float64 `expr:"max"`
	Spread      float64 `expr:"spread"`
	Solved      float64 `expr:"solved"` // share
	SolvedCount int     `expr:"solved_count"`
	LengthMean  float64 `expr:"length_mean"` // sampled tokens a valid member
	LengthMin   float64 `expr:"length_min"`
	LengthMax   float64 `expr:"length_max"`
}

func (x *Index) groupRow(number uint32) *GroupRow {
	g := &x.table[number]
	id := x.GroupID(number)
	return &GroupRow{
		ID: id, GroupID: id, ExampleID: x.ExampleOf(number), Epoch: int(x.epoch.of(x.membersOf(number)[0])),
		Count: int(g.Count), Valid: int(g.Valid), Failed: int(g.Failed), Unscored: int(g.Unscored), Kept: int(g.Kept),
		Dropped: int(g.Dropped),
		Mean:    g.Mean, Std: g.Std, StdPop: g.Std, Min: g.Min, Max: g.Max, Spread: g.Spread(), Solved: g.SolvedShare(),
		SolvedCount: int(g.Solved),
		LengthMean:  g.LengthMean, LengthMin: g.LengthMin, LengthMax: g.LengthMax,
	}
}

// groupsWhere names the conditions about groups among those that are remembered.
const groupsWhere = "groups: "

// groupsMatching returns the groups for which a condition is true, nil for all.
func (x *Index) groupsMatching(ctx context.Context, where string) (set, error) {
	if where == "" {
		return nil, nil
	}
	return x.remembered(groupsWhere+where, func() (set, error) {
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
