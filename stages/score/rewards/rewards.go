// Package rewards has the rewards, a file each or a folder where one is large, and
// lists them (All). To add one: a file or folder, a line in All, and a test that
// calls rewardtest.Run.
package rewards

import (
	"context"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/echo"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher"
)

// All are the rewards that a spec may name.
var All = plugin.NewRegistry("reward",
	Match,
	JSON,
	Tools,
	Length,
	expr.Kind,
	expr.Steps,
	Returns,
	command.Kind,
	command.Arrow,
	command.Verifiers,
	HTTP,
	judge.Kind,
	judge.Ruler,
	teacher.Kind,
	echo.Kind,
	Stored,
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
