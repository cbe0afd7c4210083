// Package all lists the rewards. To add one, add its line.
package all

import (
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/expr"
	"github.com/rollmill/rollmill/stages/score/rewards/http"
	"github.com/rollmill/rollmill/stages/score/rewards/json"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/length"
	"github.com/rollmill/rollmill/stages/score/rewards/match"
	"github.com/rollmill/rollmill/stages/score/rewards/returns"
	"github.com/rollmill/rollmill/stages/score/rewards/ruler"
	"github.com/rollmill/rollmill/stages/score/rewards/stored"
	"github.com/rollmill/rollmill/stages/score/rewards/tools"
)

// Rewards are the rewards that a spec may name.
var Rewards = plugin.NewRegistry("reward",
	match.Kind,
	json.Kind,
	tools.Kind,
	length.Kind,
	expr.Kind,
	expr.Steps,
	returns.Kind,
	command.Kind,
	command.Arrow,
	http.Kind,
	judge.Kind,
	ruler.Kind,
	stored.Kind,
)
