package advantages

import (
	"context"
	"math"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/training"
)

// Step is a training.BatchStep whose moments are known. A nil one changes nothing.
type Step struct{ shift, divisor float64 }

func (s *Step) Apply(advantage *float64) *float64 {
	if s == nil || advantage == nil {
		return advantage
	}
	return new(max(-math.MaxFloat64, min((*advantage-s.shift)/s.divisor, math.MaxFloat64)))
}

// after returns the largest magnitude after the step.
func (s *Step) after(size *training.AdvantageSize) float64 {
	if s == nil {
		return size.After(0, 1)
	}
	return size.After(s.shift, s.divisor)
}

// Remaining returns the step on a dataset's advantages that remains; nil for none. It
// computes the moments over every member that has an advantage, whatever rules drop later:
// dropping a member must not change the advantages of others. They are exact sums,
// so that they do not depend on order or shards.
func Remaining(ctx context.Context, d *dataset.Dataset) (*Step, error) {
	state, err := State(d)
	if err != nil || state == nil || state.Batch == nil {
		return nil, err
	}
	step := state.Batch
	var values, shift moments
	walk := func(f func(value, advantage float64)) error {
		return each(ctx, d, func(reward, advantage float64) {
			switch {
			case step.Of == training.BatchRewards:
				f(reward, advantage)
			case step.Of == training.BatchNonZero && reward != 0:
				f(1, advantage)
			case step.Of == training.BatchNonZero:
				f(0, advantage)
			default:
				f(advantage, advantage)
			}
		})
	}
	if err := walk(func(value, advantage float64) { values.add(value); shift.add(advantage) }); err != nil {
		return nil, err
	}
	out := &Step{divisor: 1}
	if values.n == 0 {
		return out, nil
	}
	if step.Center {
		out.shift = shift.mean()
	}
	mean, unit := values.mean(), values.unit()
	if step.Of == training.BatchNonZero {
		if mean > 0 {
			out.divisor = mean
		}
		return out, nil
	}
	var squares moments
	err = walk(func(value, _ float64) {
		x := value/unit - mean/unit
		squares.add(float64(x * x))
	})
	n := float64(values.n)
	if step.Sample {
		n--
	}
	std := 0.0
	if n > 0 && !training.Flat(values.min, values.max, training.FlatTolerance) {
		std = math.Sqrt(squares.mean()*(float64(values.n)/n)) * unit
	}
	if std+step.Epsilon > 0 {
		out.divisor = std + step.Epsilon
	}
	return out, err
}
