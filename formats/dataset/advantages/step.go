package advantages

import (
	"context"
	"encoding/json"
	"math"
	"math/big"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/storage/fault"
)

// State reads what group recorded about its advantages. In a dataset without it, they are
// final.
func State(d *dataset.Dataset) (*training.GroupState, error) {
	if d.Kind != schema.KindGroups || len(d.State) == 0 {
		return nil, nil
	}
	var s training.GroupState
	if err := json.Unmarshal(d.State, &s); err != nil {
		return nil, fault.Invalid(d.URI(), "group the scores again", err, "its manifest has no state of group")
	}
	return &s, nil
}

// Step is a training.BatchStep whose moments are known. A nil one changes nothing.
type Step struct{ shift, divisor float64 }

// Apply returns the advantage after the step.
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

// moments sums numbers exactly.
type moments struct {
	n        int64
	sum      big.Float
	min, max float64
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.sum.SetPrec(2200) // holds any sum of 2^50 doubles
		m.min, m.max = x, x
	}
	m.n++
	m.min, m.max = min(m.min, x), max(m.max, x)
	m.sum.Add(&m.sum, new(big.Float).SetFloat64(x))
}

func (m *moments) mean() float64 {
	mean, _ := new(big.Float).Quo(&m.sum, new(big.Float).SetPrec(64).SetInt64(m.n)).Float64()
	return mean
}

// unit returns a power of two to count in so that no square overflows.
func (m *moments) unit() float64 {
	if max(math.Abs(m.min), math.Abs(m.max)) < 1e150 {
		return 1
	}
	return math.Ldexp(1, 600)
}

// each calls f with the reward and advantage of each member that has an
// advantage.
func each(ctx context.Context, d *dataset.Dataset, f func(reward, advantage float64)) error {
	type columns struct {
		Reward    *float64 `parquet:"reward,optional"`
		Advantage *float64 `parquet:"advantage,optional"`
	}
	for c, err := range dataset.Each[columns](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		if c.Reward != nil && c.Advantage != nil {
			f(*c.Reward, *c.Advantage)
		}
	}
	return nil
}
