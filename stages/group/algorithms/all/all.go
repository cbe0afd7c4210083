// Package all lists the estimators. To add one: a folder beside this one, a
// line here, and a test that calls algorithmtest.Run.
package all

import (
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/algorithms/drgrpo"
	"github.com/rollmill/rollmill/stages/group/algorithms/gdpo"
	"github.com/rollmill/rollmill/stages/group/algorithms/grpo"
	"github.com/rollmill/rollmill/stages/group/algorithms/grpobatch"
	"github.com/rollmill/rollmill/stages/group/algorithms/maxrl"
	"github.com/rollmill/rollmill/stages/group/algorithms/passk"
	"github.com/rollmill/rollmill/stages/group/algorithms/reinforce"
	"github.com/rollmill/rollmill/stages/group/algorithms/rloo"
)

// Algorithms is what --estimator may name.
var Algorithms = group.NewRegistry(
	grpo.Estimator,
	drgrpo.Estimator,
	rloo.Estimator,
	maxrl.Estimator,
	reinforce.Estimator,
	passk.Estimator,
	grpobatch.Estimator,
	gdpo.Estimator,
)
