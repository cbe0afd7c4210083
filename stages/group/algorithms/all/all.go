// Package all lists the estimators. To add one: a folder beside this one, a
// line here, and a test that calls algorithmtest.Run.
package all

import (
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/algorithms/grpo"
)

// Algorithms is what --estimator may name.
var Algorithms = group.NewRegistry(
	grpo.Estimator,
)
