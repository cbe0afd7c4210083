package curate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// input is what is decided about: the groups of one epoch, and perhaps of
// earlier ones that are trained on again.
type input struct {
	sets     []*set
	previous *dataset.Dataset    // nil without --previous
	before   formats.CurateState // what it hands on
	epoch    int
	groups   []Group // of all sets, in their bases' order
	several  bool    // some are of several examples
	holdout  *Holdout
}

// set is one group dataset and the base of its rows.
type set struct {
	members   *dataset.Dataset
	base      *dataset.Dataset
	handed    *formats.GroupState // what group says about its advantages
	scattered bool                // members of a group do not lie together
	first     int                 // its groups, in input.groups
	end       int
}

func openInput(ctx context.Context, o *Options) (*input, error) {
	in := &input{}
	for i, from := range append([]stages.Input{o.In}, o.Replay...) {
		s, err := openSet(ctx, from)
		if err != nil {
			return nil, err
		}
		l := loader{in: in, set: s, epoch: o.Epoch}
		s.first = len(in.groups)
		if err := l.load(ctx, o.tokens()); err != nil {
			return nil, err
		}
		s.end = len(in.groups)
		if i == 0 && l.epoch != nil {
			in.epoch = *l.epoch
		}
		if first := in.handed(); i > 0 && !sameEstimator(first, s.handed) {
			return nil, formats.Invalid(s.members.URI(), "group both in the same way", nil, "its advantages are not those of %q: another estimator or compat", in.sets[0].members.URI())
		}
		in.sets = append(in.sets, s)
	}
	if err := in.twice(); err != nil {
		return nil, err
	}
	if err := in.openHoldout(ctx, o); err != nil {
		return nil, err
	}
	return in, in.openPrevious(ctx, o)
}

func openSet(ctx context.Context, from stages.Input) (*set, error) {
	d, err := dataset.Open(ctx, from.URI, dataset.OpenOptions{AcceptGates: from.AcceptGates})
	if err != nil {
		return nil, err
	}
	if d.Kind != formats.KindGroups {
		return nil, formats.Invalid(d.URI(), "give curate the dataset that group wrote", nil, "it holds %s, not groups", d.Kind)
	}
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	s := &set{members: d, base: base}
	if s.handed, err = handed(d); err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, s.damaged("it has %d rows and its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	return s, nil
}

// handed is what group says about the advantages of every set.
func (in *input) handed() *formats.GroupState {
	if len(in.sets) == 0 {
		return nil
	}
	return in.sets[0].handed
}

func sameEstimator(a, b *formats.GroupState) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Estimator == b.Estimator && a.Compat == b.Compat && a.NoScale == b.NoScale
}

func (s *set) damaged(format string, args ...any) error {
	return formats.Invalid(s.members.URI(), "group the scores again", nil, format, args...)
}

// stats are the columns of _groups that decide.
type stats struct {
	GroupID  string   `parquet:"group_id"`
	Example  string   `parquet:"example_id,dict"`
	Epoch    int32    `parquet:"epoch,delta"`
	FirstRow int64    `parquet:"first_row,delta"`
	Count    int32    `parquet:"count,delta"`
	Valid    int32    `parquet:"valid,delta"`
	Mean     *float64 `parquet:"mean,optional"`
	Min      *float64 `parquet:"min,optional"`
	Max      *float64 `parquet:"max,optional"`
	StdPop   *float64 `parquet:"std_pop,optional"`
	Solved   *float64 `parquet:"solved,optional"`
	Failed   *int32   `parquet:"failed"` // older files have none
}

// statsWithTokens is the version of group whose statistics count tokens.
const statsWithTokens = 2

// loader checks that groups cover the rows, in order of their first rows.
type loader struct {
	in    *input
	set   *set
	epoch *int
	first int64 // row of the last group
	next  int64 // the row after it, if groups lie together
}

// atOnce is the most groups that memory is asked for on a manifest's word.
const atOnce = 1 << 22

// load reads every group's statistics and finds the epoch.
func (l *loader) load(ctx context.Context, tokens bool) error {
	d := l.set.members
	all := dataset.Range{Rows: d.Tables[formats.TableGroups].Rows}
	l.in.groups = slices.Grow(l.in.groups, int(min(all.Rows, atOnce)))
	if err := each(ctx, d, formats.TableGroups, all, l.add); err != nil {
		return err
	}
	if l.next != d.Rows {
		return l.set.damaged("table %s covers %d of %d rows", formats.TableGroups, l.next, d.Rows)
	}
	if !tokens {
		return nil
	}
	if d.Version < statsWithTokens {
		return formats.Invalid(d.URI(), "group the scores again with this version", nil, "--token-budget, or a --filter: its statistics do not say how many tokens were sampled")
	}
	type tokenStats struct {
		SampledTokens int64 `parquet:"sampled_tokens,delta"`
	}
	i := l.set.first
	return each(ctx, d, formats.TableGroups, all, func(s *tokenStats) error {
		l.in.groups[i].SampledTokens = s.SampledTokens
		i++
		return nil
	})
}

// tokens tells whether a rule looks at how many were sampled.
func (o *Options) tokens() bool {
	return slices.ContainsFunc(o.Rules, func(k Kind) bool { return k.Tokens != nil && k.Tokens(*o) })
}

// each calls f with every row of a range.
func each[T any](ctx context.Context, d *dataset.Dataset, table string, all dataset.Range, f func(*T) error) error {
	r, err := dataset.NewReader[T](ctx, d, table, all)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]T, 1024)
	for {
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if err := f(&buf[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *loader) add(s *stats) error {
	if s.FirstRow > l.next || l.next > 0 && s.FirstRow <= l.first || s.Count < 1 || s.Valid > 0 && (s.Mean == nil || s.Min == nil || s.Max == nil) {
		return l.set.damaged("table %s: group %q does not follow the one before", formats.TableGroups, s.GroupID)
	}
	if l.epoch == nil {
		e := int(s.Epoch)
		l.epoch = &e
	}
	example := s.Example
	if strings.HasPrefix(s.GroupID, example) { // which it is called after, as a rule: one text in memory
		example = s.GroupID[:len(example)]
	}
	g := Group{ID: s.GroupID, ExampleID: example, Epoch: int(s.Epoch), FirstRow: s.FirstRow, Count: int(s.Count), Valid: int(s.Valid)}
	if g.Failed = g.Count - g.Valid; s.Failed != nil {
		g.Failed = int(*s.Failed)
	}
	if s.Valid > 0 {
		g.Mean, g.Min, g.Max = *s.Mean, *s.Min, *s.Max
		g.StdPop, g.Solved = number(s.StdPop), number(s.Solved)
	}
	l.in.several = l.in.several || g.ExampleID == ""
	l.in.groups = append(l.in.groups, g)
	l.set.scattered = l.set.scattered || s.FirstRow != l.next
	l.first = s.FirstRow
	l.next += int64(s.Count)
	return nil
}

// twice refuses a group that is there twice.
func (in *input) twice() error {
	hashes := make([]uint64, len(in.groups))
	for i := range in.groups {
		hashes[i] = xxh3.HashString(in.groups[i].ID)
	}
	slices.Sort(hashes)
	for k := 1; k < len(hashes); k++ {
		if hashes[k] == hashes[k-1] {
			if err := in.named(hashes[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// named refuses two groups of one name among those whose names have a hash.
func (in *input) named(hash uint64) error {
	seen := map[string]*set{}
	for i := range in.groups {
		id := in.groups[i].ID
		if xxh3.HashString(id) != hash {
			continue
		}
		here, hint := in.of(i), "name the groups of each epoch once"
		if seen[id] == here {
			hint = "the trajectories of an example must lie together; sort the rollouts by example_id"
		}
		if seen[id] != nil {
			return formats.Invalid(here.members.URI(), hint, nil, "group %q is there twice", id)
		}
		seen[id] = here
	}
	return nil
}

// of is the set that a group is in.
func (in *input) of(group int) *set {
	return in.sets[slices.IndexFunc(in.sets, func(s *set) bool { return group < s.end })]
}

func number(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// openPrevious reads the state that the epoch before left.
func (in *input) openPrevious(ctx context.Context, o *Options) error {
	if o.Previous.URI == "" {
		return nil
	}
	d, err := dataset.Open(ctx, o.Previous.URI, dataset.OpenOptions{AcceptGates: o.Previous.AcceptGates})
	if err != nil {
		return err
	}
	const hint = "give --previous the dataset that curate wrote in the epoch before"
	if d.Stage != stage {
		return formats.Invalid(d.URI(), hint, nil, "--previous: %s wrote it, not curate", d.Stage)
	}
	if err := json.Unmarshal(d.State, &in.before); err != nil {
		return formats.Invalid(d.URI(), hint, err, "--previous: its manifest has no state")
	}
	if in.before.Epoch >= in.epoch {
		return formats.Invalid(d.URI(), hint, nil, "--previous: it is of epoch %d, and this is epoch %d", in.before.Epoch, in.epoch)
	}
	in.previous = d
	return nil
}

// spec is what decides the rows.
func (in *input) spec(o *Options) dataset.Spec {
	var inputs []dataset.Ref
	for _, s := range in.sets {
		inputs = append(inputs, s.base.Ref("base", o.Out.URI), s.members.Ref("groups", o.Out.URI))
	}
	for _, d := range in.holdout.datasets() {
		inputs = append(inputs, d.Ref("holdout", o.Out.URI))
	}
	if in.previous != nil {
		inputs = append(inputs, in.previous.Ref("previous", o.Out.URI))
	}
	s := dataset.Spec{
		Stage: stage, Version: version, Kind: formats.KindTrajectories,
		Params: o.params(in.epoch), Inputs: inputs,
	}
	if tables := in.carried(); tables != nil {
		s.Params["carried"] = tables
	}
	if o.MinGroups != nil {
		s.Gates = []dataset.Gate{{Name: "min-groups", Count: factGroupsKept, Min: o.MinGroups}}
	}
	return s
}
