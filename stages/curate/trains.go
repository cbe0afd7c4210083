package curate

import (
	"context"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Training says whether training gets anything from a group.
type Training int32

// Nothing and Something are by the advantages that are handed over: at most
// formats.AdvantageTolerance of the batch's largest, or one that is more.
const (
	ByRewards Training = iota // preferences and labels have no advantages: nothing if the rewards are equal
	Nothing
	Something
)

// Flat reports whether a group gives no training signal.
func (g *Group) Flat(tolerance float64) bool {
	return g.Valid > 0 && (g.Trains == Nothing || g.Trains == ByRewards && formats.Flat(g.Min, g.Max, tolerance))
}

// findTraining finds out which groups train. It reads the columns of advantages twice, as the
// batch's largest decides.
func (in *input) findTraining(ctx context.Context, o *Options) error {
	if o.Compat == CompatNAT || in.carried() != nil {
		return nil
	}
	largest := 0.0
	for _, s := range in.sets {
		var err error
		if s.batchStep, err = s.step(ctx); err != nil {
			return err
		}
		if err := s.eachSize(ctx, func(_ string, size formats.AdvantageSize) {
			largest = max(largest, s.after(&size))
		}); err != nil {
			return err
		}
	}
	in.limit = largest * formats.AdvantageTolerance
	in.groups.trains = slices.Repeat([]Training{Nothing}, len(in.groups.refused))
	for _, s := range in.sets {
		if err := in.findTrainingOf(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) findTrainingOf(ctx context.Context, s *set) error {
	scattered := map[xxh3.Uint128]int{}
	if s.scattered {
		for g, err := range in.groups.every(s.first, s.end) {
			if err != nil {
				return err
			}
			scattered[xxh3.HashString128(g.ID)] = g.Index
		}
	}
	at, last := s.first-1, ""
	return s.eachSize(ctx, func(group string, size formats.AdvantageSize) {
		switch {
		case s.scattered:
			at = scattered[xxh3.HashString128(group)]
		case group != last || at < s.first: // beyond the last, the set is damaged: writing finds it
			at, last = min(at+1, s.end-1), group
		}
		if size.Loss || s.after(&size) > in.limit {
			in.groups.trains[at] = Something
		}
	})
}

// training says whether training gets anything from some members of a group.
func (in *input) training(g *Group, members []formats.Member, some []int) Training {
	if in.groups.trains == nil {
		return ByRewards
	}
	var size formats.AdvantageSize
	for _, i := range some {
		size.Add(members[i].Advantage, members[i].Advantages, members[i].Losses)
	}
	if size.Loss || in.of(g.Index).after(&size) > in.limit {
		return in.groups.unlessEqual(g, Something)
	}
	return Nothing
}

// unlessEqual is what a group trains, unless its rewards are equal by a tolerance of curate's own.
func (gs *Groups) unlessEqual(g *Group, t Training) Training {
	if gs.tolerance != nil && formats.Flat(g.Min, g.Max, *gs.tolerance) {
		return Nothing
	}
	return t
}

// after returns the largest magnitude of advantages after the batch's step.
func (s *set) after(size *formats.AdvantageSize) float64 {
	if s.batchStep == nil {
		return size.After(0, 1)
	}
	return size.After(s.batchStep.shift, s.batchStep.divisor)
}

// eachSize calls f with each member's group and the size of its advantages.
func (s *set) eachSize(ctx context.Context, f func(group string, size formats.AdvantageSize)) error {
	type columns struct {
		GroupID    string                     `parquet:"group_id,dict"`
		Advantage  *float64                   `parquet:"advantage,optional"`
		Advantages []formats.MessageAdvantage `parquet:"advantages,optional,list"` // older files lack it and
		Losses     []formats.MessageLoss      `parquet:"losses,optional,list"`
	}
	for m, err := range dataset.Each[columns](ctx, s.members, "", s.members.All()) {
		if err != nil {
			return err
		}
		var size formats.AdvantageSize
		size.Add(m.Advantage, m.Advantages, m.Losses)
		f(m.GroupID, size)
	}
	return nil
}
