package diff

import (
	"context"
	"math"
	"slices"
	"strings"

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
	Flipped      bool    `json:"flipped,omitempty"`  // solved on one side only
	OutputA      string  `json:"output_a,omitempty"` // what the reward said, such as its tests' output
	OutputB      string  `json:"output_b,omitempty"`
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

// before reports whether a row is listed before another: by the order, or since it flipped, or changed more.
func (o *DiffOptions) before(m, n *Mover) bool {
	switch {
	case o.Query.Order.By != "":
		return o.Query.Before(m.a, n.a)
	case m.Flipped != n.Flipped:
		return m.Flipped
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

// output returns why a row's reward has its value, as the reward said; "" names all.
func output(r *query.Row, name string) string {
	var said []string
	for _, x := range r.Rewards {
		if (name == "" || x.Name == name) && x.Reason != "" {
			said = append(said, x.Reason)
		}
	}
	return strings.Join(said, "\n")
}

// texts reads the questions and answers of the movers, and what the tests of the attempt printed, from the trajectories. If these
// are gone, as after prune, there are none.
func (d *Difference) texts(ctx context.Context, b *dataset.Dataset) error {
	if len(d.Movers) == 0 {
		return nil
	}
	base, err := b.OpenBase(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	columns := []string{"example", "answer"}
	if d.own[0] || d.own[1] {
		columns = append(columns, "artifacts")
	}
	rows, at := make([]int64, len(d.Movers)), map[int64]*Mover{}
	for i := range d.Movers {
		rows[i] = d.Movers[i].Row
		at[rows[i]] = &d.Movers[i]
	}
	return query.Texts(ctx, base, rows, func(row int64, r *query.Row) {
		m := at[row]
		m.Example, m.Answer = r.Example, r.Answer
		for _, x := range r.Artifacts {
			for i, output := range []*string{&m.OutputA, &m.OutputB} {
				if d.own[i] && strings.HasSuffix(x.Name, "verifier/test-stdout.txt") {
					*output = x.Content
				}
			}
		}
	}, columns...)
}
