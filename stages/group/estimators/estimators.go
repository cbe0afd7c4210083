// Package estimators has the estimators, a file each, and lists them (All). To add
// one: a file, a line in All, and a test that calls estimatortest.Run.
package estimators

import (
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/plugin"
)

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
	GDPO,
)

// kind returns the kind of an estimator without settings of its own.
func kind(name, help string,
	estimator func(group.Setup) (group.Estimator, error)) plugin.Kind[group.EstimatorSettings] {
	return plugin.Kind[group.EstimatorSettings]{Name: name, Help: help,
		New: func() group.EstimatorSettings { return &noSettings{estimator: estimator} }}
}

type noSettings struct {
	plugin.None
	estimator func(group.Setup) (group.Estimator, error)
}

// Estimator makes the estimator.
func (n *noSettings) Estimator(s group.Setup) (group.Estimator, error) { return n.estimator(s) }
