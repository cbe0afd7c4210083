package query

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// Group is what an index knows of a group, named as the columns of _groups where a
// condition reads it and where pages sort by it. Statistics are of its valid members, NaN
// if there is none; they are those of table _groups.
type Group struct {
	Count       int32   `expr:"count"`
	Valid       int32   `expr:"valid"`
	Failed      int32   `expr:"failed"`
	Unscored    int32   `expr:"unscored"`
	Kept        int32   `expr:"kept"`
	Dropped     int32   `expr:"dropped"`
	SolvedCount int32   `expr:"solved_count"`
	Solved      float64 `expr:"solved"` // share
	Mean        float64 `expr:"mean"`   // of the rewards
	Std         float64 `expr:"std"`    // divisor n
	Min         float64 `expr:"min"`
	Max         float64 `expr:"max"`
	Spread      float64 `expr:"spread"`
	LengthMean  float64 `expr:"length_mean"` // sampled tokens a valid member
	LengthMin   float64 `expr:"length_min"`
	LengthMax   float64 `expr:"length_max"`
}

// Groups returns the number of groups.
func (x *Index) Groups() int { return len(x.groups.values) }

// GroupID returns the id of a group.
func (x *Index) GroupID(number uint32) string { return x.groups.values[number] }

// GroupOf returns the number of a group, or false.
func (x *Index) GroupOf(id string) (uint32, bool) {
	n := slices.Index(x.groups.values, id)
	return uint32(max(n, 0)), n >= 0
}

// ExampleOf returns the example of a group, "" for a group of several.
func (x *Index) ExampleOf(number uint32) string {
	rows := x.membersOf(number)
	for _, row := range rows {
		if x.examples.at(row) != x.examples.at(rows[0]) {
			return ""
		}
	}
	return x.examples.of(rows[0])
}

// solvedThreshold is the setting of group that says which reward counts as solved, and
// its default.
const (
	solvedThreshold        = "solved-threshold"
	defaultSolvedThreshold = 1
)

// listMembers lists the members of each group.
func (x *Index) listMembers() {
	x.solvedFrom = defaultSolvedThreshold
	if d := x.From.Members; d != nil {
		if n, ok := d.Params[solvedThreshold].(json.Number); ok {
			if v, err := n.Float64(); err == nil {
				x.solvedFrom = v
			}
		}
	}
	groups := len(x.groups.values)
	x.firstMember = make([]uint32, groups+1)
	for row := range x.Rows {
		x.firstMember[x.groups.at(row)+1]++
	}
	for g := range groups {
		x.firstMember[g+1] += x.firstMember[g]
	}
	x.members = make([]uint32, x.Rows)
	next := append([]uint32(nil), x.firstMember...)
	for row := range x.Rows {
		g := x.groups.at(row)
		x.members[next[g]] = row
		next[g]++
	}
}

// Group returns a group by its number, computed from its members.
func (x *Index) Group(group uint32) Group {
	nan := math.NaN()
	g := Group{Solved: nan, Mean: nan, Std: nan, Min: nan, Max: nan, Spread: nan, LengthMean: nan, LengthMin: nan,
		LengthMax: nan}
	rows := x.membersOf(group)
	var sum, tokens float64
	for _, row := range rows {
		g.Count++
		switch x.drop.of(row) {
		case "":
		case Kept:
			g.Kept++
		default:
			g.Dropped++
		}
		switch {
		case !x.ran(row):
			g.Failed++
			continue
		case math.IsNaN(x.reward[row]):
			g.Unscored++
			continue
		}
		r, length := x.reward[row], float64(x.sampled[row])
		if g.Valid++; g.Valid == 1 {
			g.Min, g.Max, g.LengthMin, g.LengthMax = r, r, length, length
		}
		g.Min, g.Max = min(g.Min, r), max(g.Max, r)
		g.LengthMin, g.LengthMax = min(g.LengthMin, length), max(g.LengthMax, length)
		sum, tokens = sum+r, tokens+length
		if r >= x.solvedFrom {
			g.SolvedCount++
		}
	}
	if g.Valid == 0 {
		return g
	}
	n := float64(g.Valid)
	g.Mean, g.LengthMean, g.Spread, g.Solved = sum/n, tokens/n, g.Max-g.Min, float64(g.SolvedCount)/n
	square := 0.0
	for _, row := range rows {
		if r := x.reward[row]; x.ran(row) && !math.IsNaN(r) {
			square += (r - g.Mean) * (r - g.Mean)
		}
	}
	g.Std = math.Sqrt(square / n)
	return g
}

// ran reports whether a trajectory neither failed nor was skipped.
func (x *Index) ran(row uint32) bool {
	status := x.status.of(row)
	return status != outcomes.StatusFailed && status != outcomes.StatusSkipped
}

// GroupRow is what an expression reads of a group.
type GroupRow struct {
	ID        string  `expr:"id"`
	GroupID   string  `expr:"group_id"`
	ExampleID string  `expr:"example_id"` // "" for a group of several
	Epoch     int     `expr:"epoch"`
	StdPop    float64 `expr:"std_pop"` // as Std
	Group
}

// groupFiller returns what an expression reads of a group, and sets it to that of a group.
func (x *Index) groupFiller(func(string) bool) (any, func(group uint32)) {
	r := &GroupRow{}
	return r, func(n uint32) {
		g, id := x.Group(n), x.GroupID(n)
		*r = GroupRow{id, id, x.ExampleOf(n), int(x.epoch.of(x.First(n))), g.Std, g}
	}
}

func (x *Index) groupColumn(name string) *column {
	switch name {
	case "":
		return &column{number: func(g uint32) float64 { return float64(g) }}
	case "group_id":
		return &column{text: x.GroupID, code: func(g uint32) uint32 { return g }, values: x.groups.values}
	}
	return nil
}
