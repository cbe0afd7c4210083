package group

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group/pairs"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	stage   = "group"
	version = 4 // raise it when the same inputs and options give other rows
)

// Options are the settings of group. A field at zero has the default that its comment names.
type Options struct {
	stages.Env
	In     stages.Input   // a score dataset, or a wide dataset with rewards
	Scores []stages.Input // further score datasets, when In is one: their rewards join its own, and the total is summed again
	Out    stages.Output  // default of its URI: the caller's

	Estimator Chosen // with its settings: plugin.Pick(all.Estimators, DefaultEstimator)
	Compat    Compat // default CompatNone
	NoScale   bool   // do not divide by the standard deviation (scale_rewards: false)

	By            string       // expression over light columns whose value makes groups, in each epoch; default the example
	From          string       // URI of groups whose Estimator.Baselines are continued; default none
	AllowUnscored bool         // group trajectories none of which was ever scored
	Accept        []string     // findings with which imported rows are grouped all the same
	Spill         stages.Spill // for groups whose rows are not adjacent

	Pairs  pairs.Settings // preferences to make; none at zero
	Labels bool           // label every scored trajectory as desirable or not, by SolvedThreshold

	SolvedThreshold *float64 // a reward at or above it counts as solved; default DefaultSolvedThreshold
	FlatTolerance   *float64 // relative spread up to which a group is flat; default training.FlatTolerance

	MinGroups     *float64 // gate: refuse fewer groups with an advantage
	MaxFlatGroups *float64 // gate: refuse a larger share of flat groups among them
}

// Chosen is one estimator of a registry, and its settings.
type Chosen = plugin.Chosen[EstimatorSettings, EstimatorKind]

// Declare declares the user's options, except the datasets.
func (o *Options) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.String(&o.By, "by", "group trajectories of an epoch by the value of `EXPRESSION` over their columns, such as "+
		"metadata.topic").DefaultShown(byExample).ID("by").Common()
	plugin.Choose(d, &o.Estimator, "estimator", "compute advantages with the estimator `NAME`").IDAlways("estimator").Common()
	d.String(&o.From, "rae-from", "continue from the baselines of the groups at `URI`, those of the epoch before")
	plugin.Choice(d, &o.Compat, "compat", "compute exactly as `TRAINER` does: "+words(Compats), Compats...).
		DefaultShown(string(CompatNone)).IDAlways("compat").Common()
	d.Bool(&o.NoScale, "no-scale", "do not divide by the standard deviation").IDAlways("no-scale")
	d.Include(&o.Pairs)
	d.Bool(&o.Labels, "labels", "label scored trajectories in _labels, for KTO: desirable from --solved-threshold").
		ID("labels")
	d.OptionalFloat(&o.SolvedThreshold, "solved-threshold", "count a reward of at least `X` as solved").
		DefaultShown(fmt.Sprint(DefaultSolvedThreshold)).IDAlways("solved-threshold")
	d.OptionalFloat(&o.FlatTolerance, "flat-tolerance", "treat rewards within this relative `SPREAD` as equal, in every estimator and in curate").
		DefaultShown(fmt.Sprint(training.FlatTolerance)).IDAlways("flat-tolerance")
	d.Heading(plugin.Checks)
	d.Bool(&o.AllowUnscored, "allow-unscored", "group trajectories although none of them was ever scored")
	d.Strings(&o.Accept, "accept-finding", "group imported rows that have the finding `NAME` of import: prefix_rows")
	d.OptionalFloat(&o.MinGroups, "min-groups", "refuse fewer than `N` groups with an advantage").Min(0)
	d.OptionalFloat(&o.MaxFlatGroups, "max-flat-groups",
		"refuse a larger `SHARE` of flat groups: all their advantages are 0, or with --pairs or --labels their rewards equal")
}

// DefaultSolvedThreshold is the reward from which a trajectory counts as solved.
const DefaultSolvedThreshold = 1.0

// Validate fills in the defaults and reports the first invalid option, before a byte is read.
func (o *Options) Validate() error {
	if o.In.URI == "" {
		return usage("set Options.In", "group: no input")
	}
	if o.Out.URI == "" {
		return usage("set Options.Out", "group: no output")
	}
	e, err := o.estimator()
	if err != nil {
		return err
	}
	if e.Baselines != nil && o.Out.Shard.Of().Count > 1 {
		return usage("leave --shard out", "group: estimator %s goes from row to row, and a shard lacks the rows before", o.Estimator.Name)
	} else if e.Baselines == nil && o.From != "" {
		return usage("leave --rae-from out", "group: estimator %s has no baselines", o.Estimator.Name)
	}
	if o.By == byExample {
		o.By = ""
	}
	if o.By != "" {
		if _, err := NewBy("--by", o.By); err != nil {
			return err
		}
	}
	if err := o.Spill.Validate(stage); err != nil {
		return err
	}
	if err := o.Pairs.Validate(o.Compat == CompatNAT); err != nil {
		return err
	}
	solved, tolerance := o.solved(), o.tolerance()
	switch flat := o.MaxFlatGroups; {
	case math.IsNaN(solved) || math.IsInf(solved, 0):
		return usage("give a finite number", "group: --solved-threshold %v", solved)
	case !(tolerance >= 0 && tolerance < 1):
		return usage("give a number from 0 to below 1; it is relative to the group's largest reward",
			"group: --flat-tolerance %v", tolerance)
	case flat != nil && !(*flat >= 0 && *flat <= 1):
		return usage("give a share from 0 to 1", "group: --max-flat-groups %v", *flat)
	}
	o.SolvedThreshold, o.FlatTolerance = &solved, &tolerance
	return nil
}

func (o *Options) preferences() bool { return o.Pairs.Mode != "" || o.Labels }

func (o *Options) setup() Setup {
	return Setup{Compat: cmp.Or(o.Compat, CompatNone), NoScale: o.NoScale, Solved: o.solved(), Tolerance: o.tolerance()}
}

func (o *Options) estimator() (e Estimator, err error) {
	o.Compat = cmp.Or(o.Compat, CompatNone)
	kind, settings, err := o.Estimator.Get()
	if err == nil {
		e, err = kind.Make(settings, o.setup())
	}
	return e, err
}

// params returns the options that change rows.
func (o *Options) params() map[string]any {
	p := plugin.Identity(o, &Options{})
	if o.Pairs.Mode != "" {
		p["pairs"] = o.Pairs
	}
	kind, settings, _ := o.Estimator.Get() // Validate found it
	maps.Copy(p, plugin.Identity(settings, kind.New()))
	return p
}

// state returns what the manifest says about the advantages.
func (o *Options) state(e Estimator) (json.RawMessage, error) {
	s := training.GroupState{Estimator: o.Estimator.Name, Compat: string(o.Compat), NoScale: o.NoScale,
		Tolerance: o.tolerance(), Baselines: e.Baselines, Batch: e.Batch, Whiten: e.Whiten}
	kind, settings, err := o.Estimator.Get()
	if err == nil && len(plugin.Changed(settings, kind.New())) > 0 {
		err = convert(settings, &s.Settings)
	}
	if err != nil {
		return nil, err
	}
	if kind.Solved {
		s.Solved = new(o.solved())
	}
	return json.Marshal(s)
}

// convert sets to from the JSON of from.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func (o *Options) solved() float64 { return or(o.SolvedThreshold, DefaultSolvedThreshold) }

func (o *Options) tolerance() float64 { return or(o.FlatTolerance, training.FlatTolerance) }

func or(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

func (o *Options) gates() []manifest.Gate {
	var out []manifest.Gate
	if o.MinGroups != nil {
		out = append(out, manifest.Gate{Name: "min-groups", Count: factCompared, Min: o.MinGroups})
	}
	if o.MaxFlatGroups != nil {
		out = append(out, manifest.Gate{Name: "max-flat-groups", Count: factFlat, Of: factCompared, Max: o.MaxFlatGroups})
	}
	for _, kind := range []string{pairs.FactDesirable, pairs.FactUndesirable} {
		if o.Labels { // neither is all of them
			out = append(out, manifest.Gate{Name: "labels", Count: kind, Of: pairs.FactLabels, Max: new(1 - 1e-9)})
		}
	}
	return out
}

// Compares reports whether a trajectory that is alone in its group has no effect on training,
// because the estimator compares the attempts at one example with each other. Groups of another
// kind (By), labels, and pairs of candidates do not depend on how often an example is attempted.
func (o Options) Compares() bool {
	candidates := o.Pairs.Mode != "" && (o.Pairs.From == pairs.Candidates || o.Pairs.From == "" && o.Compat == CompatNAT)
	if o.By != "" && o.By != byExample || o.Labels || candidates {
		return false
	}
	e, err := o.estimator()
	if err != nil {
		return false // Validate reports why
	}
	var v Valid
	v.Set([]float64{1})
	v.Lengths = []Length{{SampledTokens: 1}}
	out := []float64{0}
	has := false
	if e.Components != nil {
		has = e.Components([]Component{{Name: "reward", Weight: 1, Values: v.Rewards, Valid: v}}, out)
	} else {
		has = e.Advantages(&v, out)
	}
	return !has || out[0] == 0
}

// words lists the values of a closed set of texts.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

func usage(hint, format string, args ...any) error {
	return fault.Errorf(fault.Usage, hint, format, args...)
}
