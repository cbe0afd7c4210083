package group

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Estimator computes advantages from the rewards of one group. Its functions are pure, and
// safe for concurrent use, unless it has Baselines. At zero it is refused.
type Estimator struct {
	// Advantages sets out[i] to the advantage of v.Rewards[i]; both have the same length, at
	// least 1. It returns false if the group is too small to compare: then every member's
	// advantage is null; NaN is null for one member. It is not called for a flat group of two or
	// more, unless Flat is set; those advantages are zero.
	Advantages func(v *Valid, out []float64) bool

	// Components is Advantages for the named rewards, ordered by name, and called instead of
	// it, for flat groups too: equal sums may hide components that differ.
	Components func(components []Component, out []float64) bool

	// Steps tells the steps of a trajectory apart. It sets out[i][k], which comes with the
	// advantage of member i of v, to the credit of its step k; steps are its sampled
	// messages. Flat groups are no exception. A step that lacks what the estimator needs is
	// a *BadMember, with its index among valid ones.
	Steps func(v *Valid, steps [][]Step, out [][]Credit) error
	Looks Looks // what of a step Steps looks at besides its reward

	Flat    bool // equal rewards may have advantages that are not zero
	Lengths bool // it looks at Valid.Lengths: a group without a sampled token is an error
	Forks   bool // it may be given forks: those of one prefix are a group of their own (Valid.Forks)
	Parts   *By  // tells the parts of a group apart (Length.Part): NewBy or Beginnings; nil without parts

	// Baselines are the state of an estimator whose advantages depend on the rows before, in
	// the base's order: Run gives it groups of adjacent rows of one shard, and adds those of
	// Options.From first. Such an estimator is for one run. Nil for all others.
	Baselines map[string]float64

	Batch  *training.BatchStep // a step that remains for the whole batch; nil for none
	Whiten *training.Whitening // one that remains for the trainer; nil for none

	Uneven bool // advantages need not sum to zero although those of its kind usually do
}

// EstimatorKind is an entry of the registry of estimators.
type EstimatorKind struct {
	plugin.Kind[EstimatorSettings]
	Compats []Compat // whose numbers it has; nil: CompatNone alone
	Scaled  bool     // Setup.NoScale is accepted: of the others none divides by a standard deviation of a group
	ZeroSum bool     // the advantages of a group of two or more sum to zero
	Solved  bool     // they depend on Setup.Solved
}

// Make makes the estimator of these settings. The error is of kind usage: a compat or a scale
// that the kind does not have, or settings.
func (k EstimatorKind) Make(settings EstimatorSettings, s Setup) (Estimator, error) {
	known := k.Compats
	if known == nil {
		known = []Compat{CompatNone}
	}
	if !slices.Contains(known, s.Compat) {
		return Estimator{}, usage("use one of: "+words(known), "group: %s has no --compat %q", k.Name, s.Compat)
	}
	if s.NoScale && !k.Scaled {
		return Estimator{}, usage("leave --no-scale out", "group: %s divides by no standard deviation of a group", k.Name)
	}
	e, err := settings.Estimator(s)
	if err == nil && e.Advantages == nil {
		err = fmt.Errorf("group: estimator %s computes no advantages", k.Name)
	}
	return e, err
}

// EstimatorSettings are the settings of an estimator, apart from its Setup. Those that differ
// from the defaults are written as JSON into the manifest's state, so that curate can compute
// advantages again: their fields are exported.
type EstimatorSettings interface {
	plugin.Settings

	// Estimator makes the estimator under a compat and a scale that its kind has. The error
	// is of kind usage.
	Estimator(s Setup) (Estimator, error)
}

// Compat says whose numbers to compute exactly: divisor, epsilon and the
// treatment of a group with one valid member.
type Compat string

const (
	CompatNone     Compat = "none" // population std, epsilon 1e-6, a singleton has no advantage
	CompatART      Compat = "art"
	CompatTRL      Compat = "trl"
	CompatVerl     Compat = "verl"
	CompatOpenRLHF Compat = "openrlhf"
	CompatSlime    Compat = "slime"
	CompatNemoRL   Compat = "nemo-rl"
	CompatPrimeRL  Compat = "prime-rl"
	CompatNAT      Compat = "nat" // hands its groups to ART; pairs as its DPO builder makes them
)

// Compats lists the known values, the default first.
var Compats = []Compat{CompatNone, CompatART, CompatTRL, CompatVerl, CompatOpenRLHF, CompatSlime, CompatNemoRL,
	CompatPrimeRL, CompatNAT}

// Setup holds the options of group that every estimator obeys.
type Setup struct {
	Compat    Compat
	NoScale   bool    // do not divide by the standard deviation
	Solved    float64 // a reward at or above it counts as solved
	Tolerance float64 // relative spread up to which rewards are equal (training.Flat), in parts and components too
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
// mean: Estimator.Advantages.
func (s Singleton) Centred(v *Valid, out []float64) bool {
	if len(out) == 1 {
		return s.Advantage(v.Rewards[0], 1, out)
	}
	for i, r := range v.Rewards {
		out[i] = v.Centred(r)
	}
	return true
}

// Invalid returns the error of a setting of an estimator.
func Invalid(hint, format string, args ...any) error { return usage(hint, "group: "+format, args...) }
