// Package advantages finds out which groups of datasets train, by the advantages that are
// handed over to a trainer. Everything that counts flat groups asks it, so that all counts agree;
// only group counts while it writes (stages/group, tally).
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

// Batch is datasets that are handed over together.
type Batch struct {
	sets  []*dataset.Dataset
	steps []*Step // that remain, of each
	limit float64 // up to which an advantage counts as 0
}

// Of returns the batch of datasets of groups, or of wide ones. It is nil if rewards decide
// which groups train: with preferences or labels, of scores, or of wide rows without advantages.
func Of(ctx context.Context, sets ...*dataset.Dataset) (*Batch, error) {
	b, largest, any := &Batch{sets: sets}, 0.0, false
	for _, d := range sets {
		_, pairs := d.Tables[schema.TablePairs]
		if _, labels := d.Tables[schema.TableLabels]; pairs || labels || d.Kind == schema.KindScores {
			return nil, nil
		}
	}
	for i, d := range sets {
		step, err := Remaining(ctx, d)
		if err != nil {
			return nil, err
		}
		b.steps = append(b.steps, step)
		if err := b.eachSize(ctx, i, func(_ string, size *training.AdvantageSize) {
			any, largest = any || d.Kind == schema.KindGroups || size.Any(), max(largest, step.after(size))
		}); err != nil {
			return nil, err
		}
	}
	if b.limit = largest * training.AdvantageTolerance; !any {
		return nil, nil
	}
	return b, nil
}

// Step returns the step that remains of dataset i.
func (b *Batch) Step(i int) *Step { return b.steps[i] }

// Of says what trains of trajectories, on whose advantages a step remains.
func (b *Batch) Of(step *Step, size *training.AdvantageSize) training.Training {
	switch {
	case b == nil:
		return training.TrainsByRewards
	case size.Loss || step.after(size) > b.limit:
		return training.TrainsSomething
	case size.Any():
		return training.TrainsNothing
	}
	return training.NoAdvantages
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

// eachSize calls f with each row's group and the size of its advantages, which is valid until
// f returns.
func (b *Batch) eachSize(ctx context.Context, i int, f func(group string, size *training.AdvantageSize)) error {
	type columns struct {
		GroupID    string                      `parquet:"group_id,optional,dict"`
		Advantage  *float64                    `parquet:"advantage,optional"`
		Advantages []training.MessageAdvantage `parquet:"advantages,optional,list"` // older files lack it and
		Losses     []training.MessageLoss      `parquet:"losses,optional,list"`
	}
	for m, err := range dataset.Each[columns](ctx, b.sets[i], "", b.sets[i].All()) {
		if err != nil {
			return err
		}
		var size training.AdvantageSize
		size.Add(m.Advantage, m.Advantages, m.Losses)
		f(m.GroupID, &size)
	}
	return nil
}
