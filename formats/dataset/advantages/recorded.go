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

// State reads what group recorded about its advantages. In a dataset without it, they are final.
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

// each calls f with the reward and advantage of each member that has an advantage.
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
