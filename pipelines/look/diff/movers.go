package diff

import (
	"context"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/look/query"
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

	a, b *query.Row
}

// Values returns both values of a named reward.
func (m *Mover) Values(name string) (a, b *float64) {
	a, _ = value(m.a, name)
	b, _ = value(m.b, name)
	return a, b
}

// before reports whether a row is listed before another: by the order, or since it changed more.
func (o *DiffOptions) before(m, n *Mover) bool {
	if o.Query.Order.By != "" {
		return o.Query.Before(m.a, n.a)
	}
	return math.Abs(m.B-m.A) > math.Abs(n.B-n.A)
}

// mover keeps a row if it is among the first that are listed; of equal ones the first rows.
func (d *Difference) mover(m Mover, o *DiffOptions) {
	at := len(d.Movers)
	for at > 0 && o.before(&m, &d.Movers[at-1]) {
		at--
	}
	if at < o.Movers {
		a, b := *m.a, *m.b
		a.Rewards, b.Rewards = slices.Clone(a.Rewards), slices.Clone(b.Rewards)
		m.a, m.b = &a, &b
		d.Movers = slices.Insert(d.Movers, at, m)
		d.Movers = d.Movers[:min(len(d.Movers), o.Movers)]
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
	rows, at := make([]int64, len(d.Movers)), map[int64]*Mover{}
	for i := range d.Movers {
		rows[i] = d.Movers[i].Row
		at[rows[i]] = &d.Movers[i]
	}
	return query.Texts(ctx, base, rows, func(row int64, example, answer string) {
		at[row].Example, at[row].Answer = example, answer
	})
}
