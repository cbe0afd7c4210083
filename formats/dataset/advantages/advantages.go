// Package advantages finds out which groups of datasets train, by the advantages that are
// handed over to a trainer. Everything that counts flat groups asks it, so that all counts agree;
// only group counts while it writes (stages/group, tally).
package advantages

import (
	"context"

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
