package group

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Algorithm makes advantages out of the rewards of one group. It is a pure
// function, safe for concurrent use.
type Algorithm interface {
	// Advantages sets out[i] to the advantage of v.Rewards[i]; both have the
	// same length, at least 1. It reports false when the group is too small
	// to compare: then every member's advantage is null. A flat group of two
	// or more never comes here; its advantages are zero.
	Advantages(v *Valid, out []float64) bool
}

// ComponentAlgorithm is an Algorithm that looks at the named rewards one by
// one. It is asked instead of Advantages, and for flat groups too: equal sums
// may hide components that differ.
type ComponentAlgorithm interface {
	Algorithm
	// Components is as Advantages, given each named reward, in order of names.
	Components(components []Component, out []float64) bool
}

// Finisher is an Algorithm whose advantages are not final: something is left
// that only who knows the whole batch can do. Either may be nil.
type Finisher interface {
	Finish() (*formats.BatchStep, *formats.Whitening)
}

// Uneven is an Algorithm whose advantages need not sum to zero although its
// Estimator's otherwise do.
type Uneven interface{ Uneven() bool }

// Estimator is a kind of Algorithm, by the name that --estimator gives it.
type Estimator struct {
	Name    string
	Help    string // a lower-case phrase
	ZeroSum bool   // the advantages of a group of two or more sum to zero
	New     func(Settings) (Algorithm, error)
}

// Settings are what an estimator may be told. A compat that it does not know
// is an error of kind usage.
type Settings struct {
	Compat  Compat
	NoScale bool
}

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
func Refuse(estimator string, s Settings, known ...Compat) error {
	words := make([]string, len(known))
	for i, c := range known {
		words[i] = string(c)
	}
	return usage("use one of: "+strings.Join(words, ", "), "group: %s has no --compat %q", estimator, s.Compat)
}

// RefuseNoScale is the error of an estimator that has nothing to leave out.
func RefuseNoScale(estimator string) error {
	return usage("leave --no-scale out", "group: %s divides by no standard deviation of a group", estimator)
}

// Registry lists estimators.
type Registry []Estimator

// Names are the estimators' names, in order.
func (r Registry) Names() []string {
	var out []string
	for _, e := range r {
		out = append(out, e.Name)
	}
	return out
}

// NewRegistry lists estimators; a name given twice is a mistake in the
// program, and panics.
func NewRegistry(estimators ...Estimator) Registry {
	seen := map[string]bool{}
	for _, e := range estimators {
		if seen[e.Name] {
			panic(fmt.Sprintf("group: two estimators named %q", e.Name))
		}
		seen[e.Name] = true
	}
	return Registry(estimators)
}
