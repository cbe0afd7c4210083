package group

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Estimator makes advantages out of the rewards of one group. It is a pure
// function, safe for concurrent use.
type Estimator interface {
	// Advantages sets out[i] to the advantage of v.Rewards[i]; both have the
	// same length, at least 1. It reports false when the group is too small
	// to compare: then every member's advantage is null. A flat group of two
	// or more never comes here; its advantages are zero.
	Advantages(v *Valid, out []float64) bool
}

// ComponentEstimator is an Estimator that looks at the named rewards one by
// one. It is asked instead of Advantages, and for flat groups too: equal sums
// may hide components that differ.
type ComponentEstimator interface {
	Estimator
	// Components is as Advantages, given each named reward, in order of names.
	Components(components []Component, out []float64) bool
}

// Finisher is an Estimator whose advantages are not final: a step is left that
// needs the whole batch. Either result may be nil.
type Finisher interface {
	Finish() (*formats.BatchStep, *formats.Whitening)
}

// Uneven is an Estimator whose advantages need not sum to zero although those
// of its kind otherwise do.
type Uneven interface{ Uneven() bool }

// EstimatorKind is an entry of the registry of estimators.
type EstimatorKind struct {
	plugin.Kind[EstimatorSettings]
	ZeroSum bool // the advantages of a group of two or more sum to zero
}

// EstimatorSettings are what an estimator can be told beside its Setup. They
// are written as JSON into the manifest's state where they differ from the
// defaults, so that curate can compute advantages again: their fields are
// exported.
type EstimatorSettings interface {
	plugin.Settings

	// Estimator makes the estimator. A compat that it does not know is an error
	// of kind usage.
	Estimator(s Setup) (Estimator, error)
}

// Setup is what group's own options mean to an estimator.
type Setup struct {
	Compat  Compat
	NoScale bool // do not divide by the standard deviation
}

// Registry lists estimators.
type Registry = plugin.Registry[EstimatorSettings, EstimatorKind]

// DefaultEstimator is the name of the estimator that is used unless another is
// chosen.
const DefaultEstimator = "grpo"

// Singleton is what a trainer does with a group that has one valid member.
type Singleton int

const (
	SingletonNone Singleton = iota // it has no advantage
	SingletonZero
	SingletonRaw // its mean is taken for 0: the reward itself
)

// Alone sets the advantage of a single member, if it has one. unit is what the
// trainer divides its reward by.
func (s Singleton) Alone(reward, unit float64, out []float64) bool {
	switch s {
	case SingletonZero:
		out[0] = 0
	case SingletonRaw:
		out[0] = reward / unit
	default:
		return false
	}
	return true
}

// Refuse is the error of an estimator that does not know a compat.
func Refuse(estimator string, s Setup, known ...Compat) error {
	return usage("use one of: "+words(known), "group: %s has no --compat %q", estimator, s.Compat)
}

// RefuseNoScale is the error of an estimator that has nothing to leave out.
func RefuseNoScale(estimator string) error {
	return usage("leave --no-scale out", "group: %s divides by no standard deviation of a group", estimator)
}
