package advantages

import (
	"context"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// EachGroup calls f with the statistics of each group of a dataset of group, and what trains of it.
func EachGroup(ctx context.Context, d *dataset.Dataset, f func(*formats.GroupStats, training.Training)) error {
	b, err := Of(ctx, d)
	if err != nil {
		return err
	}
	trains, err := b.Groups(ctx, 0)
	if err != nil {
		return err
	}
	i := 0
	for g, err := range dataset.Each[formats.GroupStats](ctx, d, schema.TableGroups, dataset.Range{Rows: d.Tables[schema.TableGroups].Rows}) {
		if err != nil {
			return err
		}
		t := training.TrainsByRewards
		if b != nil {
			t = trains[i]
		}
		f(g, t)
		i++
	}
	return nil
}

// Groups says what trains of each group of dataset i, which is of group, in the order of its
// statistics; nil for a nil batch. It takes 4 bytes for each group, and if members are scattered 24 more.
func (b *Batch) Groups(ctx context.Context, i int) (out []training.Training, err error) {
	if b == nil {
		return nil, nil
	}
	type columns struct {
		GroupID  string `parquet:"group_id"`
		FirstRow int64  `parquet:"first_row,delta"`
		Count    int32  `parquet:"count,delta"`
	}
	d, at, next, scattered := b.sets[i], map[xxh3.Uint128]int{}, int64(0), false
	groups := func(f func(*columns)) error {
		for g, err := range dataset.Each[columns](ctx, d, schema.TableGroups, dataset.Range{Rows: d.Tables[schema.TableGroups].Rows}) {
			if err != nil {
				return err
			}
			f(g)
		}
		return nil
	}
	err = groups(func(g *columns) {
		out = append(out, training.NoAdvantages)
		scattered, next = scattered || g.FirstRow != next, next+int64(g.Count)
	})
	if err == nil && scattered {
		err = groups(func(g *columns) { at[xxh3.HashString128(g.GroupID)] = len(at) })
	}
	if err != nil {
		return nil, err
	}
	k, last := -1, ""
	return out, b.eachSize(ctx, i, func(group string, size *training.AdvantageSize) {
		switch {
		case scattered:
			k = at[xxh3.HashString128(group)]
		case group != last || k < 0:
			k, last = k+1, strings.Clone(group)
		}
		if k < len(out) { // else it is damaged, which others find
			out[k] = max(out[k], b.Of(b.steps[i], size))
		}
	})
}
