// Package all lists the estimators. To add one: a neighbouring folder, a line
// here, and a test that calls estimatortest.Run.
package estimators

import (
	"github.com/rollmill/rollmill/stages/plugin"
)

// All are the values of --estimator.
var All = plugin.NewRegistry("estimator",
	GRPO,
	DrGRPO,
	RLOO,
	MaxRL,
	Reinforce,
	PassK,
	GRPOBatch,
	GDPO,
)
