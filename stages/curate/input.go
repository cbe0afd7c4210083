package curate

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// input is what is decided about.
type input struct {
	members  *dataset.Dataset
	base     *dataset.Dataset
	handed   *formats.GroupState // what group says about its advantages
	previous *dataset.Dataset    // nil without --previous
	before   formats.CurateState // what it hands on
	epoch    int
	groups   []Group // in the base's order
}

func openInput(ctx context.Context, o *Options) (*input, error) {
	d, err := dataset.Open(ctx, o.In.URI, dataset.OpenOptions{AcceptGates: o.In.AcceptGates})
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
	in := &input{members: d, base: base}
	if in.handed, err = handed(d); err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, in.damaged("it has %d rows and its base %q has %d", d.Rows, base.URI(), base.Rows)
	}
	if err := in.load(ctx, o); err != nil {
		return nil, err
	}
	return in, in.openPrevious(ctx, o)
}

func (in *input) damaged(format string, args ...any) error {
	return formats.Invalid(in.members.URI(), "group the scores again", nil, format, args...)
}

// stats are the columns of _groups that decide.
type stats struct {
	GroupID  string   `parquet:"group_id"`
	Epoch    int32    `parquet:"epoch,delta"`
	FirstRow int64    `parquet:"first_row,delta"`
	Count    int32    `parquet:"count,delta"`
	Valid    int32    `parquet:"valid,delta"`
	Mean     *float64 `parquet:"mean,optional"`
	Min      *float64 `parquet:"min,optional"`
	Max      *float64 `parquet:"max,optional"`
}

// load reads every group's statistics and finds the epoch.
func (in *input) load(ctx context.Context, o *Options) error {
	r, err := dataset.NewReader[stats](ctx, in.members, formats.TableGroups, dataset.Range{Rows: in.members.Tables[formats.TableGroups].Rows})
	if err != nil {
		return err
	}
	defer r.Close()
	l := loader{in: in, epoch: o.Epoch, seen: map[xxh3.Uint128]struct{}{}}
	buf := make([]stats, 1024)
	for {
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if err := l.add(&buf[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return l.done()
		}
		if err != nil {
			return err
		}
	}
}

// loader checks that groups follow one another and cover the rows.
type loader struct {
	in    *input
	epoch *int
	next  int64 // the row after the last group
	seen  map[xxh3.Uint128]struct{}
}

func (l *loader) add(s *stats) error {
	if s.FirstRow != l.next || s.Count < 1 || s.Valid > 0 && (s.Mean == nil || s.Min == nil || s.Max == nil) {
		return l.in.damaged("table %s: group %q does not follow the one before", formats.TableGroups, s.GroupID)
	}
	id := xxh3.HashString128(s.GroupID)
	if _, again := l.seen[id]; again {
		return formats.Invalid(l.in.members.URI(), "the trajectories of an example must lie together; sort the rollouts by example_id", nil,
			"group %q is there twice", s.GroupID)
	}
	l.seen[id] = struct{}{}
	if l.epoch == nil {
		e := int(s.Epoch)
		l.epoch = &e
	}
	g := Group{ID: s.GroupID, FirstRow: s.FirstRow, Count: int(s.Count), Valid: int(s.Valid)}
	if s.Valid > 0 {
		g.Mean, g.Min, g.Max = *s.Mean, *s.Min, *s.Max
	}
	l.in.groups = append(l.in.groups, g)
	l.next += int64(s.Count)
	return nil
}

func (l *loader) done() error {
	if l.next != l.in.members.Rows {
		return l.in.damaged("table %s covers %d of %d rows", formats.TableGroups, l.next, l.in.members.Rows)
	}
	if l.epoch != nil {
		l.in.epoch = *l.epoch
	}
	return nil
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
	inputs := []dataset.Ref{in.base.Ref("base", o.Out.URI), in.members.Ref("groups", o.Out.URI)}
	if in.previous != nil {
		inputs = append(inputs, in.previous.Ref("previous", o.Out.URI))
	}
	s := dataset.Spec{
		Stage: stage, Version: version, Kind: formats.KindTrajectories,
		Params: o.params(in.epoch), Inputs: inputs,
	}
	if o.MinGroups != nil {
		s.Gates = []dataset.Gate{{Name: "min-groups", Count: factGroupsKept, Min: o.MinGroups}}
	}
	return s
}
