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

// ofRow is embedded in the rewards that need nothing but the row. It returns the
// value of one.
type ofRow func(*score.Row) score.Value

func (value ofRow) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		values[i] = value(row)
	}
	return ctx.Err()
}

func (ofRow) Close() error { return nil }
