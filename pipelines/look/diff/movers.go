package diff

import (
	"context"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
)

// Mover is a row whose reward changed much.
type Mover struct {
	Row          int64   `json:"row"`
	TrajectoryID string  `json:"trajectory_id"`
	ExampleID    string  `json:"example_id"`
	Epoch        int32   `json:"epoch"`
	Generation   int32   `json:"generation"`
	A            float64 `json:"a"`
	B            float64 `json:"b"`
	Example      string  `json:"example"`
	Answer       string  `json:"answer"`

	a, b scored // with their rewards
}

// Values returns both values of a named reward.
func (m *Mover) Values(name string) (a, b *float64) {
	a, _ = m.a.value(name)
	b, _ = m.b.value(name)
	return a, b
}

// mover keeps the rows that changed most; of equal changes the first rows.
func (d *Difference) mover(m Mover, limit int) {
	far := func(m Mover) float64 { return math.Abs(m.B - m.A) }
	at := len(d.Movers)
	for at > 0 && far(d.Movers[at-1]) < far(m) {
		at--
	}
	if at < limit {
		m.a.Rewards, m.b.Rewards = slices.Clone(m.a.Rewards), slices.Clone(m.b.Rewards)
		d.Movers = slices.Insert(d.Movers, at, m)
		d.Movers = d.Movers[:min(len(d.Movers), limit)]
	}
}

// texts reads the questions and answers of the movers from the trajectories. If these
// are gone, as after prune, there are none.
func (d *Difference) texts(ctx context.Context, b *dataset.Dataset) error {
	if len(d.Movers) == 0 {
		return nil
	}
	base, err := b.OpenBase(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	type said struct {
		Example string `parquet:"example"`
		Answer  string `parquet:"answer,optional"`
	}
	for i := range d.Movers {
		rows, err := dataset.ReadAll[said](ctx, base, "", dataset.Range{First: d.Movers[i].Row, Rows: 1})
		if err != nil {
			return err
		}
		d.Movers[i].Example, d.Movers[i].Answer = rows[0].Example, rows[0].Answer
	}
	return nil
}
