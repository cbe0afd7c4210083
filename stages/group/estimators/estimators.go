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

// kind returns the kind of an estimator without settings of its own.
func kind(name, help string, estimator func(group.Setup) group.Estimator) plugin.Kind[group.EstimatorSettings] {
	return plugin.Kind[group.EstimatorSettings]{Name: name, Help: help,
		New: func() group.EstimatorSettings { return &noSettings{estimator: estimator} }}
}

type noSettings struct {
	plugin.None
	estimator func(group.Setup) group.Estimator
}

// Estimator makes the estimator.
func (n *noSettings) Estimator(s group.Setup) (group.Estimator, error) { return n.estimator(s), nil }

// singletonOf returns what a trainer does with a singleton that is not divided: verl takes
// its mean for 0.
func singletonOf(c group.Compat) group.Singleton {
	switch c {
	case group.CompatNone, group.CompatART, group.CompatNAT:
		return group.SingletonNone
	case group.CompatVerl:
		return group.SingletonRaw
	}
	return group.SingletonZero
}
