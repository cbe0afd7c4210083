package curate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	stage   = "curate"
	version = 3 // raise it when the same inputs and options give other rows
)

// Options are the settings of curate. A field at zero has the default that its comment names.
type Options struct {
	stages.Env
	In          stages.Input   // a group dataset
	OtherEpochs []stages.Input // group datasets of other epochs, trained on again with it
	Previous    stages.Input   // the curated dataset of the previous epoch; URI "" for none
	Out         stages.Output  // default of its URI: the caller's

	Rules  Rules  // with their settings: plugin.Every(rules.All)
	Epoch  *int   // default: the epoch of the groups, which must then be one
	Seed   int64  // of every random choice, with the group's or trajectory's id
	Compat Compat // default CompatNone

	FlatTolerance *float64 // relative spread up to which a group is flat; default training.FlatTolerance
	MinValid      int      // fewest valid members of a group worth training on; default 2

	PlanTable   PlanTable
	Examples    Examples     // that a plan is drawn from; nil for none
	ExamplesRef manifest.Ref // their URI, with the digest of the file

	Spill stages.Spill // for groups whose rows are not adjacent

	Recompute bool // compute advantages again from the remaining members
	// Recomputer returns the function that computes a group's advantages again, given its
	// members and their rows in the base.
	Recomputer func(training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error)

	MinGroups *float64 // gate: refuse fewer kept groups

	running   []active       // the rules that the settings ask for, in their order; from Validate
	identity  map[string]any // of all rules
	recompute func([]formats.Member, []formats.Trajectory) error
	decode    bool // for tests: copy no pages
}

// Declare declares the user's options, except the datasets.
func (o *Options) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.OptionalInt(&o.Epoch, "epoch", "curate epoch `N`, from 0").Min(0).DefaultShown("that of the groups").Common()
	d.Int64(&o.Seed, "seed", "use `SEED` for every random choice")
	plugin.Choice(d, &o.Compat, "compat", "behave exactly as `HARNESS`: none, nat", Compats...).DefaultShown(string(CompatNone))
	d.OptionalFloat(&o.FlatTolerance, "flat-tolerance", "treat rewards within this relative `SPREAD` as equal").DefaultShown("that of group")
	d.Int(&o.MinValid, "min-valid", "drop groups with fewer than `N` scored members").Min(0).
		DefaultShown(strconv.Itoa(DefaultMinValid)).Common()
	d.Bool(&o.Recompute, "recompute", "compute advantages again from the remaining members").ID("recompute")
	d.Include(&o.PlanTable)
	d.Include(o.Rules)
	d.Heading(plugin.Checks)
	d.OptionalFloat(&o.MinGroups, "min-groups", "refuse a result with fewer than `N` groups").Min(0)
}

// Compat says whose behaviour to reproduce.
type Compat string

const (
	CompatNone Compat = "none" // the documented behaviour
	CompatNAT  Compat = "nat"  // the NeMo Agent Toolkit's own, with its quirks
)

// Compats lists the known values, the default first.
var Compats = []Compat{CompatNone, CompatNAT}

// DefaultMinValid is the default of Options.MinValid: a single reward cannot be compared.
const DefaultMinValid = 2

// Validate fills in the defaults and reports the first invalid option, before a byte is read.
func (o *Options) Validate() error {
	switch tolerance := o.FlatTolerance; {
	case o.In.URI == "":
		return Usage("set Options.In", "curate: no input")
	case o.Out.URI == "":
		return Usage("set Options.Out", "curate: no output")
	case tolerance != nil && !(*tolerance >= 0 && *tolerance < 1):
		return Usage("give a number from 0 to below 1; it is relative to the group's largest reward",
			"curate: --flat-tolerance %v", *tolerance)
	}
	if err := o.Spill.Validate(stage); err != nil {
		return err
	}
	if err := o.compat(); err != nil {
		return err
	}
	if err := o.PlanTable.validate(); err != nil {
		return err
	}
	if o.PlanTable.Drawn() != (o.Examples != nil) {
		return Usage("give --plan-examples the task file of rollout, and --plan-mix or --plan-pass-rate",
			"curate: a plan is drawn from a task file")
	}
	return o.makeRules()
}

func (o *Options) makeRules() error {
	o.running, o.identity = nil, map[string]any{}
	for _, r := range o.Rules.All() {
		rule, err := r.Settings.Rule(o.setup())
		if err != nil {
			return err
		}
		if rule.runs() {
			o.running = append(o.running, active{RuleKind: r.Entry, Rule: rule})
			if rule.Identity == nil {
				rule.Identity = plugin.Identity(r.Settings, r.Entry.New())
			}
		}
		maps.Copy(o.identity, rule.Identity)
	}
	return nil
}

func (o *Options) setup() Setup {
	return Setup{Compat: o.Compat, FlatTolerance: o.tolerance(), MinValid: o.minValid()}
}

func (o *Options) minValid() int { return cmp.Or(o.MinValid, DefaultMinValid) }

func (o *Options) tolerance() float64 {
	if o.FlatTolerance == nil {
		return training.FlatTolerance
	}
	return *o.FlatTolerance
}

// params returns the options that change rows. Those of rules that do not run
// are left out, so that they do not change the identity.
func (o *Options) params(epoch int) map[string]any {
	p := plugin.Identity(o, &Options{})
	plugin.Put(p, "epoch", epoch)
	plugin.Put(p, "compat", string(o.Compat))
	maps.Copy(p, o.identity)
	if o.PlanTable.Budget != nil || slices.ContainsFunc(o.running, func(a active) bool { return a.Seeded }) {
		plugin.Put(p, "seed", o.Seed)
	}
	return p
}

// compat refuses options that NAT's own behaviour excludes.
func (o *Options) compat() error {
	switch o.Compat {
	case "":
		o.Compat = CompatNone
	case CompatNone:
	case CompatNAT:
		const hint = "NAT drops groups in its curriculum only (--curriculum, --min-reward-diff); leave the option out"
		if o.FlatTolerance != nil {
			return Usage(hint, "curate: --flat-tolerance has no meaning under --compat nat")
		}
		if o.MinValid != 0 {
			return Usage(hint, "curate: --min-valid has no meaning under --compat nat")
		}
	default:
		return Usage("use none or nat", "curate: unknown --compat %q", o.Compat)
	}
	return nil
}

// Usage returns an error of kind usage.
func Usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, format, args...)
}

// tokens reports whether a rule uses the number of sampled tokens.
func (o *Options) tokens() bool {
	return slices.ContainsFunc(o.running, func(a active) bool { return a.Tokens })
}
