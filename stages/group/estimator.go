package group

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Estimator computes advantages from the rewards of one group. It is a pure
// function, safe for concurrent use.
//
// An Estimator may implement further interfaces, declared below:
//
//	interface           adds                                       asked by
//	ComponentEstimator  named rewards one by one                   Grouper
//	FlatEstimator       advantages in flat groups                  Grouper
//	LengthEstimator     the lengths of the members                 Grouper
//	StepEstimator       advantages of single messages              Grouper, the reader of the base
//	PartEstimator       parts of the group                         the reader of the base
//	SequentialEstimator a state that goes from row to row          Run
//	ForkEstimator       groups of forks                            Grouper
//	Finisher            a step that needs the whole batch          the manifest's state, for curate and trainers
//	Uneven              advantages that need not sum to zero       estimatortest
type Estimator interface {
	// Advantages sets out[i] to the advantage of v.Rewards[i]; both have the
	// same length, at least 1. It returns false if the group is too small to
	// compare: then every member's advantage is null; NaN is null for one member. It
	// is not called for a flat group of two or more, unless it is a FlatEstimator;
	// those advantages are zero.
	Advantages(v *Valid, out []float64) bool
}

// ComponentEstimator is an Estimator that uses the named rewards one by one. It
// is called instead of Advantages, and for flat groups too: equal sums may hide
// components that differ.
type ComponentEstimator interface {
	Estimator
	// Components is Advantages for the named rewards, ordered by name.
	Components(components []Component, out []float64) bool
}

// FlatEstimator is an Estimator that is called for flat groups too: equal rewards
// may have advantages that are not zero.
type FlatEstimator interface {
	Estimator
	UsesFlat()
}

// LengthEstimator is an Estimator that looks at Valid.Lengths. It never gets a
// group without a sampled token: that is an error.
type LengthEstimator interface {
	Estimator
	UsesLengths()
}

// PartEstimator is an Estimator that looks at Length.Part in Valid.Lengths.
type PartEstimator interface {
	Estimator
	// Parts tells the parts of a group apart: by an expression (NewBy), or Beginnings.
	Parts() *By
}

// SequentialEstimator is an Estimator whose advantages depend on the rows before, in the
// base's order: Run gives it groups of adjacent rows of one shard. It is for one run.
type SequentialEstimator interface {
	Estimator
	// Baselines is its state, of the last row so far; Run adds those of Options.From first.
	Baselines() map[string]float64
}

// Finisher is an Estimator whose advantages are not final: a step that needs
// the whole batch remains. Either result may be nil.
type Finisher interface {
	Finish() (*formats.BatchStep, *formats.Whitening)
}

// Uneven is an Estimator whose advantages need not sum to zero although those
// of its kind usually do.
type Uneven interface{ Uneven() bool }

// EstimatorKind is an entry of the registry of estimators.
type EstimatorKind struct {
	plugin.Kind[EstimatorSettings]
	ZeroSum bool // the advantages of a group of two or more sum to zero
	Solved  bool // they depend on Setup.Solved
}

// EstimatorSettings are the settings of an estimator, apart from its Setup.
// Those that differ from the defaults are written as JSON into the manifest's
// state, so that curate can compute advantages again: their fields are
// exported.
type EstimatorSettings interface {
	plugin.Settings

	// Estimator makes the estimator. An unknown compat is an error of kind
	// usage.
	Estimator(s Setup) (Estimator, error)
}

// Setup holds the options of group that matter to an estimator.
type Setup struct {
	Compat  Compat
	NoScale bool    // do not divide by the standard deviation
	Solved  float64 // a reward at or above it counts as solved
}

// Registry lists estimators.
type Registry = plugin.Registry[EstimatorSettings, EstimatorKind]

// DefaultEstimator is the name of the default estimator.
const DefaultEstimator = "grpo"

// Singleton is what a trainer does with a group that has one valid member.
type Singleton int

const (
	SingletonNone Singleton = iota // it has no advantage
	SingletonZero
	SingletonRaw // its mean counts as 0: the reward itself
)

// Advantage sets the advantage of a single member, if it has one. unit is the
// number by which the trainer divides its reward.
func (s Singleton) Advantage(reward, unit float64, out []float64) bool {
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

// Centred computes advantages that are a reward's distance from its group's
// mean, for estimators to embed.
type Centred struct{ Singleton Singleton }

// Advantages is a part of Estimator.
func (c Centred) Advantages(v *Valid, out []float64) bool {
	if len(out) == 1 {
		return c.Singleton.Advantage(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = v.Centred(r)
	}
	return true
}

// Refuse returns the error of an estimator that does not know a compat.
func Refuse(estimator string, s Setup, known ...Compat) error {
	return usage("use one of: "+words(known), "group: %s has no --compat %q", estimator, s.Compat)
}

// Invalid returns the error of a setting of an estimator.
func Invalid(hint, format string, args ...any) error { return usage(hint, "group: "+format, args...) }

// RefuseNoScale returns the error of an estimator that does not divide by a
// standard deviation.
func RefuseNoScale(estimator string) error {
	return usage("leave --no-scale out", "group: %s divides by no standard deviation of a group", estimator)
}
