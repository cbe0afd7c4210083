package rewards

import (
	"context"

	"github.com/rollmill/rollmill/stages/score"
)

// ofRow is a reward that needs nothing but the row.
type ofRow struct {
	description score.Description
	value       func(*score.Row) score.Value
}

func newOfRow(d score.Description, value func(*score.Row) score.Value) score.Reward {
	d.Immediate = true
	return ofRow{d, value}
}

func (r ofRow) Describe() score.Description { return r.description }

func (r ofRow) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		values[i] = r.value(row)
	}
	return ctx.Err()
}

func (ofRow) Close() error { return nil }
