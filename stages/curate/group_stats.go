package curate

import (
	"context"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage/fault"
)

// statsRow are the columns of _groups that matter here.
type statsRow struct {
	GroupID  string   `parquet:"group_id"`
	Example  string   `parquet:"example_id,dict"`
	Epoch    int32    `parquet:"epoch,delta"`
	Forks    bool     `parquet:"forks,optional"` // older files lack it
	FirstRow int64    `parquet:"first_row,delta"`
	Count    int32    `parquet:"count,delta"`
	Valid    int32    `parquet:"valid,delta"`
	Mean     *float64 `parquet:"mean,optional"`
	Min      *float64 `parquet:"min,optional"`
	Max      *float64 `parquet:"max,optional"`
	StdPop   *float64 `parquet:"std_pop,optional"`
	Solved   *float64 `parquet:"solved,optional"`
	Failed   *int32   `parquet:"failed"` // older files lack it and
	Sampled  *int64   `parquet:"sampled_tokens"`
}

// statsWithTokens is the version of group whose statistics count tokens.
const statsWithTokens = 2

// statsReader checks that groups cover the rows, in the order of their first rows.
type statsReader struct {
	in    *input
	set   *set
	names *spill.Set // of the groups of all sets
	epoch *int
	first int64 // row of the last group
	next  int64 // the row after it, if groups are adjacent
}

// read reads every group's statistics and determines the epoch.
func (l *statsReader) read(ctx context.Context, tokens bool) error {
	d := l.set.members
	if tokens && d.Version < statsWithTokens {
		return fault.Invalid(d.URI(), "group the scores again with this version", nil,
			"--token-budget, or a --filter: its statistics do not say how many tokens were sampled")
	}
	for s, err := range dataset.Each[statsRow](ctx, d, schema.TableGroups,
		dataset.Range{Rows: d.Tables[schema.TableGroups].Rows}) {
		if err == nil {
			err = l.add(s)
		}
		if err != nil {
			return err
		}
	}
	if l.next != d.Rows {
		return l.set.damaged("table %s covers %d of %d rows", schema.TableGroups, l.next, d.Rows)
	}
	return nil
}

func (l *statsReader) add(s *statsRow) error {
	if s.FirstRow > l.next || l.next > 0 && s.FirstRow <= l.first || s.Count < 1 ||
		s.Valid > 0 && (s.Mean == nil || s.Min == nil || s.Max == nil) {
		return l.set.damaged("table %s: group %q does not follow the previous one", schema.TableGroups, s.GroupID)
	}
	if l.epoch == nil {
		l.epoch = new(int(s.Epoch))
	}
	g := Group{ID: s.GroupID, ExampleID: s.Example, Fork: s.Forks, Epoch: int(s.Epoch), FirstRow: s.FirstRow,
		Count: int(s.Count), Valid: int(s.Valid)}
	if g.Failed = g.Count - g.Valid; s.Failed != nil {
		g.Failed = int(*s.Failed)
	}
	if s.Sampled != nil {
		g.SampledTokens = *s.Sampled
	}
	if s.Valid > 0 {
		g.Mean, g.Min, g.Max = *s.Mean, *s.Min, *s.Max
		g.StdPop, g.Solved = number(s.StdPop), number(s.Solved)
	}
	l.in.several = l.in.several || g.ExampleID == ""
	l.set.scattered = l.set.scattered || s.FirstRow != l.next
	l.first = s.FirstRow
	l.next += int64(s.Count)
	if _, err := l.names.Add(xxh3.HashString(g.ID)); err != nil {
		return err
	}
	return l.in.groups.add(&g)
}

// refuseRepeatedNames refuses two groups with one name. It is called when there are such
// groups, or two names with the same hash.
func (src *input) refuseRepeatedNames() error {
	last := Group{Index: -1}
	for g, err := range src.groups.Sorted(func(g *Group) (Rank, bool) { return Rank{Text: g.ID, Lot: int64(g.Index)}, true }) {
		if err != nil {
			return err
		}
		if here := src.of(g.Index); last.Index >= 0 && g.ID == last.ID {
			hint := "name the groups of each epoch once"
			if here == src.of(last.Index) {
				hint = "the trajectories of an example must be adjacent; sort the rollouts by example_id"
			}
			return fault.Invalid(here.members.URI(), hint, nil, "group %q occurs twice", g.ID)
		}
		last = *g
	}
	return nil
}

// of returns the set that a group is in.
func (src *input) of(group int) *set {
	return src.sets[slices.IndexFunc(src.sets, func(s *set) bool { return group < s.end })]
}

func number(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
