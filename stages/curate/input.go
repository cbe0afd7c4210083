package curate

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/advantages"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage/fault"
)

// input is the data to decide about: the groups of one epoch, and perhaps of
// other epochs that are trained on again.
type input struct {
	sets          []*set
	previous      *dataset.Dataset     // nil without --previous
	previousState decision.CurateState // its state
	epoch         int
	batch         *advantages.Batch
	groups        *Groups // of all sets, in their bases' order
	several       bool    // some are of several examples
	holdout       *heldout.Set
}

// set is one group dataset and the base of its rows.
type set struct {
	members    *dataset.Dataset
	base       *dataset.Dataset
	groupState *training.GroupState // what group recorded about its advantages
	batchStep  *advantages.Step     // what remains to be done with them; from findTraining
	scattered  bool                 // members of a group are not adjacent
	first      int                  // its groups, by index
	end        int
}

func openInput(ctx context.Context, o *Options) (*input, error) {
	in := &input{groups: newGroups(o.Spill)}
	if err := in.open(ctx, o); err != nil {
		in.groups.close()
		return nil, err
	}
	return in, nil
}

func (src *input) open(ctx context.Context, o *Options) error {
	names := spill.NewSet(o.Spill.Dir, src.groups.spill.Memory)
	defer names.Close()
	for i, from := range append([]stages.Input{o.In}, o.OtherEpochs...) {
		s, err := openSet(ctx, from)
		if err != nil {
			return err
		}
		l := statsReader{in: src, set: s, names: names, epoch: o.Epoch}
		s.first = len(src.groups.refused)
		if err := l.read(ctx, o.tokens()); err != nil {
			return err
		}
		s.end = len(src.groups.refused)
		if i == 0 && l.epoch != nil {
			src.epoch = *l.epoch
		}
		if first := src.groupState(); i > 0 && !sameEstimator(first, s.groupState) {
			return fault.Invalid(s.members.URI(), "group both in the same way", nil,
				"its advantages are not those of %q: another estimator or compat", src.sets[0].members.URI())
		}
		src.sets = append(src.sets, s)
	}
	twice, err := names.Twice()
	if err == nil && twice {
		err = src.refuseRepeatedNames()
	}
	if err != nil {
		return err
	}
	for _, a := range o.running {
		if a.HeldOut == nil {
			continue
		}
		a.HeldOut.At, a.HeldOut.Warn = o.Out.URI, func(text string) { o.Logger().Warn(text) }
		if src.holdout, err = heldout.Open(ctx, *a.HeldOut); err != nil {
			return err
		}
	}
	src.groups.tolerance = o.FlatTolerance
	if s := src.groupState(); s != nil && s.Tolerance > 0 && o.FlatTolerance == nil && o.Compat != CompatNAT {
		o.FlatTolerance = &s.Tolerance
		if err := o.makeRules(); err != nil {
			return err
		}
	}
	return src.openPrevious(ctx, o)
}

func openSet(ctx context.Context, from stages.Input) (*set, error) {
	d, err := dataset.Open(ctx, from.URI, dataset.OpenOptions{AcceptGates: from.AcceptGates})
	if err != nil {
		return nil, err
	}
	if d.Kind != schema.KindGroups {
		return nil, fault.Invalid(d.URI(), "give curate the dataset that group wrote", nil,
			"it holds %s, not groups", d.Kind)
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	s := &set{members: d, base: base}
	if s.groupState, err = advantages.State(d); err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, s.damaged("it has %d rows and its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	return s, nil
}

// groupState returns what group recorded about the advantages of every set.
func (src *input) groupState() *training.GroupState {
	if len(src.sets) == 0 {
		return nil
	}
	return src.sets[0].groupState
}

func sameEstimator(a, b *training.GroupState) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Estimator == b.Estimator && a.Compat == b.Compat && a.NoScale == b.NoScale &&
		reflect.DeepEqual(a.Settings, b.Settings) && reflect.DeepEqual(a.Solved, b.Solved)
}

func (s *set) damaged(format string, args ...any) *fault.Error {
	return fault.Invalid(s.members.URI(), "group the scores again", nil, format, args...)
}

func (src *input) openPrevious(ctx context.Context, o *Options) error {
	if o.Previous.URI == "" {
		return nil
	}
	d, err := dataset.Open(ctx, o.Previous.URI, dataset.OpenOptions{AcceptGates: o.Previous.AcceptGates})
	if err != nil {
		return err
	}
	const hint = "give --previous the dataset that curate wrote in the epoch before"
	if d.Stage != stage {
		return fault.Invalid(d.URI(), hint, nil, "--previous: %s wrote it, not curate", d.Stage)
	}
	if err := json.Unmarshal(d.State, &src.previousState); err != nil {
		return fault.Invalid(d.URI(), hint, err, "--previous: its manifest has no state")
	}
	if src.previousState.Epoch >= src.epoch {
		return fault.Invalid(d.URI(), hint, nil, "--previous: it is of epoch %d, and this is epoch %d",
			src.previousState.Epoch, src.epoch)
	}
	src.previous = d
	return nil
}

// run returns the run of the curated epoch; that of the other epochs if it has none.
func (src *input) run() manifest.Run {
	var all []*dataset.Dataset
	for _, s := range src.sets {
		all = append(all, s.members, s.base)
	}
	return dataset.RunOf(all...)
}

func (src *input) spec(o *Options) manifest.Spec {
	var inputs []manifest.Ref
	for _, s := range src.sets {
		inputs = append(inputs, s.base.Ref("base", o.Out.URI), s.members.Ref("groups", o.Out.URI))
	}
	if src.holdout != nil {
		inputs = append(inputs, src.holdout.Refs...)
	}
	if src.previous != nil {
		inputs = append(inputs, src.previous.Ref("previous", o.Out.URI))
	}
	if o.Examples != nil {
		inputs = append(inputs, o.ExamplesRef)
	}
	s := manifest.Spec{
		Stage: stage, Version: version, Kind: schema.KindTrajectories,
		Params: o.params(src.epoch), Inputs: inputs, Run: src.run(), Columns: src.sets[0].base.Columns,
	}
	if tables := src.carried(); tables != nil {
		s.Params["carried"] = tables
	}
	if o.MinGroups != nil {
		s.Gates = []manifest.Gate{{Name: "min-groups", Count: factGroupsKept, Min: o.MinGroups}}
	}
	return s
}

// prepare makes what depends on the input.
func (o *Options) prepare(in *input) error {
	if in.several {
		for _, a := range o.running {
			if a.OfExamples {
				return Usage("group by example, or leave the rule out",
					"curate: rule %s is about examples, and there are groups of several", a.Name)
			}
		}
	}
	s := in.groupState()
	if !o.Recompute {
		return nil
	}
	if s == nil {
		return fault.Invalid(in.sets[0].members.URI(), "group the scores again with this version", nil,
			"--recompute: its manifest does not say how the advantages were made")
	}
	if s.Batch != nil {
		return Usage("leave --recompute out",
			"curate: --recompute: estimator %q looks at the whole batch, of which only a part is left", s.Estimator)
	}
	var err error
	o.recompute, err = o.Recomputer(*s)
	return err
}

// carried lists the tables that any set has.
func (src *input) carried() (tables []string) {
	for _, table := range []string{schema.TableLabels, schema.TablePairs} {
		if slices.ContainsFunc(src.sets, func(s *set) bool { _, has := s.members.Tables[table]; return has }) {
			tables = append(tables, table)
		}
	}
	return tables
}
