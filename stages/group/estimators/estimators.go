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

// ofVerl returns what an estimator of verl does with a singleton, which it never
// divides: verl takes its mean for 0. It refuses what verl does not have.
func ofVerl(estimator string, s group.Setup) (group.Singleton, error) {
	switch {
	case s.NoScale:
		return 0, group.RefuseNoScale(estimator)
	case s.Compat == group.CompatNone:
		return group.SingletonNone, nil
	case s.Compat == group.CompatVerl:
		return group.SingletonRaw, nil
	}
	return 0, group.Refuse(estimator, s, group.CompatNone, group.CompatVerl)
}
