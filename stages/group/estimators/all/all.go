// Package all lists the estimators. To add one: a neighbouring folder, a line
// here, and a test that calls estimatortest.Run.
package all

import (
	"github.com/rollmill/rollmill/stages/group/estimators/drgrpo"
	"github.com/rollmill/rollmill/stages/group/estimators/gdpo"
	"github.com/rollmill/rollmill/stages/group/estimators/grpo"
	"github.com/rollmill/rollmill/stages/group/estimators/grpobatch"
	"github.com/rollmill/rollmill/stages/group/estimators/maxrl"
	"github.com/rollmill/rollmill/stages/group/estimators/passk"
	"github.com/rollmill/rollmill/stages/group/estimators/reinforce"
	"github.com/rollmill/rollmill/stages/group/estimators/rloo"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Estimators are the values of --estimator.
var Estimators = plugin.NewRegistry("estimator",
	grpo.Kind,
	drgrpo.Kind,
	rloo.Kind,
	maxrl.Kind,
	reinforce.Kind,
	passk.Kind,
	grpobatch.Kind,
	gdpo.Kind,
)
