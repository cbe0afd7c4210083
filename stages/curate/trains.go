package curate

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/training"
)

// findTraining finds out which groups train.
func (src *input) findTraining(ctx context.Context, o *Options) error {
	if o.Compat == CompatNAT {
		return nil
	}
	var sets []*dataset.Dataset
	for _, s := range src.sets {
		sets = append(sets, s.members)
	}
	var err error
	if src.batch, err = advantages.Of(ctx, sets...); err != nil {
		return err
	}
	for i, s := range src.sets {
		trains, err := src.batch.Groups(ctx, i)
		if err != nil {
			return err
		}
		if src.groups.trains = append(src.groups.trains, trains...); src.batch != nil {
			s.batchStep = src.batch.Step(i)
		}
	}
	return nil
}

// training reports whether training gets anything from some members of a group.
func (src *input) training(g *Group, members []formats.Member, some []int) training.Training {
	var size training.AdvantageSize
	for _, i := range some {
		size.Add(members[i].Advantage, members[i].Advantages, members[i].Losses)
	}
	t := src.batch.Of(src.of(g.Index).batchStep, &size)
	if t == training.TrainsSomething {
		return src.groups.unlessEqual(g, t)
	}
	return t
}
