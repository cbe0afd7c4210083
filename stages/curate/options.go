package curate

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
)

// Options are what curate needs to know. A field at zero has the default that
// its comment names.
type Options struct {
	stages.Env
	In       stages.Input   // a group dataset
	Replay   []stages.Input // group datasets of other epochs, trained on again beside it
	Holdout  []stages.Input // rollouts whose examples are never trained on
	Previous stages.Input   // the curated dataset of the epoch before; URI "" for none
	Out      stages.Output  // default of its URI: the caller's

	Rules  Registry // in their order: rules/all
	Epoch  *int     // default: the epoch of the groups, which must then be one
	Seed   int64    // of every random choice, with the group's or trajectory's id
	Compat Compat   // default CompatNone

	KeepFlat      bool     // do not drop flat groups
	FlatTolerance *float64 // relative spread up to which a group is flat; default formats.FlatTolerance
	MinValid      int      // fewest valid members of a group worth training; default 2
	Curriculum    Curriculum

	Spill stages.Spill // for groups that do not lie together

	recompute func([]formats.Member) error
	decode    bool // for tests: copy no pages

	// Each of the following asks for a rule; at zero it does not run.
	SampleGroups       *float64 // keep a seeded share of the groups, in (0, 1]
	TokenBudget        int64    // keep groups, in seeded order, while their sampled tokens fit
	PolicyVersion      *int64   // the version that is trained now; with MaxStaleness
	MaxStaleness       *int64   // drop what an older version than PolicyVersion less this sampled
	CheckLogprobs      bool     // drop what has no sound log probabilities
	AnyTemperature     bool     // they may be raw at a temperature other than 1
	LogprobFloor       *float64 // one at or under it says nothing; default DefaultLogprobFloor
	MaxSampledTokens   int      // longest trajectory, in sampled tokens
	MaxSequenceTokens  int      // longest call, prompt and answer
	MinMessages        int      // fewest messages of the main path
	DropDuplicates     bool     // drop members that say what an earlier one of their group says
	NearDuplicates     *float64 // drop members that are so alike to an earlier one of their group, in (0, 1]
	Filters            []string // expressions over group and trajectory that must be true
	SampleTrajectories *float64 // keep a seeded share of the trajectories, in (0, 1]
	BestOf             int      // keep so many of each group, highest reward first
	MaxPerGroup        int      // keep so many of each group, chosen by the seed
	MaxPerExample      int      // keep so many groups of each example, the newest
	Split              []Side   // of the examples, by the seed; with Take
	Take               string   // the side that is kept
	Pools              Pools

	Next Next

	// Recompute makes the function that computes a group's advantages anew;
	// nil leaves them as group made them.
	Recompute func(formats.GroupState) (func([]formats.Member) error, error)

	MinGroups *float64 // gate: refuse fewer kept groups
}

// Curriculum says how the share of groups grows from epoch to epoch. See
// package rules/curriculum for what exactly happens.
type Curriculum struct {
	Enabled         bool
	Initial         float64  // share of groups at first, in (0, 1]; default 0.3
	Increment       float64  // added at each expansion, in (0, 1]; default 0.2
	Interval        int      // epochs between expansions, at least 1; default 5
	MinRewardDiff   *float64 // groups with a smaller spread are dropped; default 0.1
	Ascending       bool     // hardest (lowest mean reward) first instead of easiest first
	RandomSubsample *float64 // share of trajectories kept of each chosen group, in (0, 1]; nil keeps all
}

// Compat says whose behaviour to reproduce.
type Compat string

const (
	CompatNone Compat = "none" // the documented behaviour
	CompatNAT  Compat = "nat"  // the NeMo Agent Toolkit's own, with its quirks
)

// Compats lists the known values, the default first.
var Compats = []Compat{CompatNone, CompatNAT}

// Defaults of Options.
const (
	DefaultMinValid      = 2
	DefaultInitial       = 0.3
	DefaultIncrement     = 0.2
	DefaultInterval      = 5
	DefaultMinRewardDiff = 0.1
)

// DefaultLogprobFloor is the one of audit and submit.
const DefaultLogprobFloor = validate.LogprobFloor

// Validate fills in the defaults and reports the first option that cannot
// work, before a byte is read.
func (o *Options) Validate() error {
	if o.In.URI == "" {
		return usage("name a group dataset with --in", "curate: no input")
	}
	if o.Out.URI == "" {
		return usage("name the dataset to write with --out", "curate: no output")
	}
	if o.Epoch != nil && *o.Epoch < 0 {
		return usage("epochs count from 0", "curate: --epoch %d", *o.Epoch)
	}
	if o.MinValid < 0 {
		return usage("give a number of trajectories", "curate: --min-valid %d", o.MinValid)
	}
	if t := o.FlatTolerance; t != nil && !(*t >= 0 && *t < 1) {
		return usage("give a number from 0 to below 1; it is relative to the group's largest reward", "curate: --flat-tolerance %v", *t)
	}
	if n := o.MinGroups; n != nil && !(*n >= 0) {
		return usage("give a number of groups", "curate: --min-groups %v", *n)
	}
	if err := o.Spill.Validate(stage); err != nil {
		return err
	}
	if err := o.compat(); err != nil {
		return err
	}
	if err := o.rules(); err != nil {
		return err
	}
	if err := o.Curriculum.validate(); err != nil {
		return err
	}
	for _, k := range o.Rules {
		if _, err := k.New(*o); err != nil {
			return err
		}
	}
	return nil
}

// compat refuses what NAT's own behaviour leaves no room for.
func (o *Options) compat() error {
	switch o.Compat {
	case "":
		o.Compat = CompatNone
	case CompatNone:
	case CompatNAT:
		const hint = "NAT drops groups in its curriculum only (--curriculum, --min-reward-diff); leave the option out"
		if o.FlatTolerance != nil {
			return usage(hint, "curate: --flat-tolerance has no meaning under --compat nat")
		}
		if o.MinValid != 0 {
			return usage(hint, "curate: --min-valid has no meaning under --compat nat")
		}
	default:
		return usage("use none or nat", "curate: unknown --compat %q", o.Compat)
	}
	return nil
}

func (c *Curriculum) validate() error {
	if c.Initial == 0 {
		c.Initial = DefaultInitial
	}
	if c.Increment == 0 {
		c.Increment = DefaultIncrement
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.MinRewardDiff == nil {
		d := DefaultMinRewardDiff
		c.MinRewardDiff = &d
	}
	share := func(x float64) bool { return x > 0 && x <= 1 }
	switch {
	case !share(c.Initial):
		return usage("a share lies above 0 and up to 1: 0.3 begins with the easiest 30 %", "curate: --curriculum-initial %v", c.Initial)
	case !share(c.Increment):
		return usage("a share lies above 0 and up to 1: 0.2 adds 20 % at each expansion", "curate: --curriculum-increment %v", c.Increment)
	case c.Interval < 1:
		return usage("give a number of epochs, at least 1", "curate: --curriculum-interval %d", c.Interval)
	case !(*c.MinRewardDiff >= 0) || math.IsInf(*c.MinRewardDiff, 0):
		return usage("give a difference of rewards, 0 or more", "curate: --min-reward-diff %v", *c.MinRewardDiff)
	case c.RandomSubsample != nil && !share(*c.RandomSubsample):
		return usage("a share lies above 0 and up to 1", "curate: --random-subsample %v", *c.RandomSubsample)
	}
	return nil
}

// rules checks what the rules of their own options are told.
func (o *Options) rules() error {
	for _, s := range []struct {
		flag  string
		share *float64
	}{{"sample-groups", o.SampleGroups}, {"sample-trajectories", o.SampleTrajectories}} {
		if s.share != nil && !(*s.share > 0 && *s.share <= 1) {
			return usage("a share lies above 0 and up to 1", "curate: --%s %v", s.flag, *s.share)
		}
	}
	for _, n := range []struct {
		flag string
		n    int64
	}{{"token-budget", o.TokenBudget}, {"max-sampled-tokens", int64(o.MaxSampledTokens)}, {"max-sequence-tokens", int64(o.MaxSequenceTokens)},
		{"min-messages", int64(o.MinMessages)}, {"best-of", int64(o.BestOf)}, {"max-per-group", int64(o.MaxPerGroup)},
		{"max-per-example", int64(o.MaxPerExample)}} {
		if n.n < 0 {
			return usage("give a number, at least 1; 0 leaves the rule out", "curate: --%s %d", n.flag, n.n)
		}
	}
	if n := o.MaxStaleness; n != nil && *n < 0 {
		return usage("give a number of policy versions, 0 or more", "curate: --max-staleness %d", *n)
	}
	if (o.MaxStaleness == nil) != (o.PolicyVersion == nil) {
		return usage("give both: the version that is trained now, and how far behind it a trajectory may be", "curate: --max-staleness and --policy-version go together")
	}
	if n := o.NearDuplicates; n != nil && !(*n > 0 && *n <= 1) {
		return usage("1 is the same text but for case and blanks, 0.9 nearly the same", "curate: --drop-near-duplicates %v is not above 0 and up to 1", *n)
	}
	if err := o.sides(); err != nil {
		return err
	}
	if err := o.Pools.validate(); err != nil {
		return err
	}
	if err := o.Next.validate(); err != nil {
		return err
	}
	if o.AnyTemperature && !o.CheckLogprobs {
		return usage("it loosens --check-logprobs", "curate: --any-temperature without --check-logprobs")
	}
	if o.LogprobFloor != nil && !o.CheckLogprobs {
		return usage("it says more about --check-logprobs", "curate: --logprob-floor without --check-logprobs")
	}
	if f := o.LogprobFloor; f != nil && !(*f < 0) {
		return usage("a log probability is 0 or less: give what the engine writes for one that it does not know", "curate: --logprob-floor %v", *f)
	}
	return nil
}

// prepare makes what depends on the input.
func (o *Options) prepare(in *input) error {
	if in.several && (len(o.Split) > 0 || o.Pools.Enabled || o.MaxPerExample > 0) {
		return usage("group by example, or leave them out", "curate: --split, --pools and --max-per-example are about examples, and there are groups of several")
	}
	s := in.handed()
	if o.Recompute == nil {
		return nil
	}
	if s == nil {
		return formats.Invalid(in.sets[0].members.URI(), "group the scores again with this version", nil, "--recompute: its manifest does not say how the advantages were made")
	}
	if s.Batch != nil {
		return usage("leave --recompute out", "curate: --recompute: estimator %q looks at the whole batch, of which only a part is left", s.Estimator)
	}
	var err error
	o.recompute, err = o.Recompute(*s)
	return err
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, format, args...)
}
