package eval

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Parting is where another attempt at the best attempt's example did something else.
type Parting struct {
	ExampleID   string      `json:"example_id"`
	Generations [2]int32    `json:"generations"` // the best's and the other's
	Message     int         `json:"message"`     // on the main path, from 0
	Texts       [2]string   `json:"texts"`       // of that message; "" where an attempt had ended
	Rewards     [2]*float64 `json:"rewards"`
}

// part finds the parting from the worst other attempt at the best one's example. order
// has the best first.
func (r *TryResult) part(ctx context.Context, uri string, order []Attempt) error {
	for _, other := range slices.Backward(order[1:]) {
		if other.ExampleID != order[0].ExampleID {
			continue
		}
		c, err := model.Converse(ctx, uri, other.TrajectoryID)
		if err == nil {
			r.Parting = partingOf(r.best.Trajectory(), c.Trajectory())
		}
		return err
	}
	return nil
}

// partingOf returns nil for attempts that said the same.
func partingOf(a, b *formats.Trajectory) *Parting {
	p := &Parting{ExampleID: a.ExampleID, Generations: [2]int32{a.Generation, b.Generation}, Rewards: [2]*float64{a.Reward, b.Reward}}
	for n := range max(len(a.Main()), len(b.Main())) {
		p.Message, p.Texts = n, [2]string{}
		for i, t := range []*formats.Trajectory{a, b} {
			if path := t.Main(); n < len(path) {
				p.Texts[i] = model.Said(&t.Messages[path[n]])
			}
		}
		if p.Texts[0] != p.Texts[1] {
			return p
		}
	}
	return nil
}

func (p *Parting) write(w io.Writer) {
	fmt.Fprintf(w, "\nattempts %d and %d at %s part at message [%d]\n", p.Generations[0], p.Generations[1],
		text.Short(text.Line(p.ExampleID), 32), p.Message)
	for i, said := range p.Texts {
		if said == "" {
			said = "had ended"
		}
		fmt.Fprintf(w, "    attempt %d, reward %s: %s\n", p.Generations[i], text.Float(p.Rewards[i]),
			text.Short(text.Line(strings.TrimSpace(said)), 120))
	}
}
