// Package estimators has the estimators, a file each, and lists them (All). To add
// one: a file, a line in All, and a test that calls estimatortest.Run.
package estimators

import "github.com/rollmill/rollmill/stages/plugin"

// All are the values of --estimator.
var All = plugin.NewRegistry("estimator",
	GRPO,
	DrGRPO,
	RLOO,
	OPO,
	MaxRL,
	Reinforce,
	ReinforcePlain,
	PassK,
	PassKAnalytic,
	GRPOBatch,
	GPG,
	GDPO,
	Turns,
	GiGPO,
	Distill,
	Tree,
	Hierarchical,
	RAE,
	Value,
)
