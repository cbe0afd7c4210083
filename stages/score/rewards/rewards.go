// Package rewards has the rewards, a file each or a folder where one is large, and lists them
// (All). To add one: a file or folder, a line in All, and a test that calls rewardtest.Run.
package rewards

import (
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score/rewards/behaviour"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/echo"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/harbor"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher"
)

// All are the rewards that a spec may name.
var All = plugin.NewRegistry("reward",
	Match,
	JSON,
	Tools,
	Length,
	behaviour.Kind,
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
	harbor.Kind,
)
