package group

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// Options are what group needs to know. A field at zero has the default that
// its comment names.
type Options struct {
	stages.Env
	In     stages.Input   // a score dataset, or a wide dataset with rewards
	Scores []stages.Input // score datasets beside In, one too: their rewards join its own, and the total is summed again
	Out    stages.Output  // default of its URI: the caller's

	Algorithms Registry // what --estimator may name: algorithms/all
	Estimator  string   // default "grpo"
	Compat     Compat   // default CompatNone
	NoScale    bool     // do not divide by the standard deviation (scale_rewards: false)

	By            string       // expression over light columns whose value makes groups, in each epoch; default the example
	AllowUnscored bool         // group trajectories of which none was ever scored
	Spill         stages.Spill // for groups that do not lie together

	Pairs  Pairs // preferences to make; none at zero
	Labels bool  // label every scored trajectory as wanted or not, by SolvedThreshold

	SolvedThreshold *float64 // a reward at or above it counts as solved; default DefaultSolvedThreshold
	FlatTolerance   *float64 // relative spread up to which a group is flat; default formats.FlatTolerance

	MinGroups     *float64 // gate: refuse fewer groups with an advantage
	MaxFlatGroups *float64 // gate: refuse a larger share of flat groups among them
}

// Compat says whose numbers to compute, to the last rule: divisor, epsilon and
// what becomes of a group with one valid member.
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
var Compats = []Compat{CompatNone, CompatART, CompatTRL, CompatVerl, CompatOpenRLHF, CompatSlime, CompatNemoRL, CompatPrimeRL, CompatNAT}

// DefaultSolvedThreshold is the reward from which a trajectory counts as solved.
const DefaultSolvedThreshold = 1.0

// Validate reports the first option that cannot work, before a byte is read.
func (o *Options) Validate() error {
	if o.In.URI == "" {
		return usage("name a score dataset with --in", "group: no input")
	}
	if o.Out.URI == "" {
		return usage("name the dataset to write with --out", "group: no output")
	}
	if o.Estimator == "" {
		o.Estimator = "grpo"
	}
	if o.Compat == "" {
		o.Compat = CompatNone
	}
	if _, err := o.algorithm(); err != nil {
		return err
	}
	if _, err := newBy(o.By); err != nil {
		return err
	}
	if err := o.Spill.Validate(stage); err != nil {
		return err
	}
	if err := o.Pairs.validate(o.Compat); err != nil {
		return err
	}
	if t := o.SolvedThreshold; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0)) {
		return usage("give a finite number", "group: --solved-threshold %v", *t)
	}
	if t := o.FlatTolerance; t != nil && !(*t >= 0 && *t < 1) {
		return usage("give a number from 0 to below 1; it is relative to the group's largest reward", "group: --flat-tolerance %v", *t)
	}
	if n := o.MinGroups; n != nil && !(*n >= 0) {
		return usage("give a number of groups", "group: --min-groups %v", *n)
	}
	if s := o.MaxFlatGroups; s != nil && !(*s >= 0 && *s <= 1) {
		return usage("give a share from 0 to 1", "group: --max-flat-groups %v", *s)
	}
	return nil
}

// preferences tells whether pairs or labels are asked for.
func (o *Options) preferences() bool { return o.Pairs.Mode != "" || o.Labels }

func (o *Options) algorithm() (Algorithm, error) {
	for _, e := range o.Algorithms {
		if e.Name == o.Estimator {
			return e.New(Settings{Compat: o.Compat, NoScale: o.NoScale})
		}
	}
	return nil, usage("known estimators: "+strings.Join(o.Algorithms.Names(), ", "), "group: unknown estimator %q", o.Estimator)
}

// state is what the manifest says about the advantages.
func (o *Options) state() (json.RawMessage, error) {
	s := formats.GroupState{Estimator: o.Estimator, Compat: string(o.Compat), NoScale: o.NoScale, Tolerance: o.tolerance()}
	a, err := o.algorithm()
	if err != nil {
		return nil, err
	}
	if f, ok := a.(Finisher); ok {
		s.Batch, s.Whiten = f.Finish()
	}
	return json.Marshal(s)
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, format, args...)
}
