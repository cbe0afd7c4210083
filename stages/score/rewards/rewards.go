// Package rewards has the rewards, a file each or a folder where one is large, and
// lists them (All). To add one: a file or folder, a line in All, and a test that
// calls rewardtest.Run.
package rewards

import (
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
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
	HTTP,
	judge.Kind,
	judge.Ruler,
	Stored,
)

// ofRow is embedded in the rewards that need nothing but the row.
type ofRow struct{}

// Immediate marks a reward of the row alone.
func (ofRow) Immediate() {}

func (ofRow) Close() error { return nil }
