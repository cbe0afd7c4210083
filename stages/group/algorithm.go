package group

import "fmt"

// Algorithm makes advantages out of the rewards of one group. It is a pure
// function, safe for concurrent use.
type Algorithm interface {
	// Advantages sets out[i] to the advantage of v.Rewards[i]; both have the
	// same length, at least 1. It reports false when the group is too small
	// to compare: then every member's advantage is null. A flat group of two
	// or more never comes here; its advantages are zero.
	Advantages(v *Valid, out []float64) bool
}

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
