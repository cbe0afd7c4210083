// Package joined reads datasets as whole trajectories: a wide one as it is, and a
// thin one row by row together with the base that it is about. Columns of the thin
// dataset replace those of the base.
package joined

import (
	"context"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Source is a dataset and the wide rows that it is about.
type Source struct {
	Rows *dataset.Dataset // as named
	Base *dataset.Dataset // the same for a wide one
}

// Of returns the source of an open dataset. An error names a base that is gone,
// or has another number of rows.
func Of(ctx context.Context, d *dataset.Dataset) (*Source, error) {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return nil, err
	}
	if base.Rows != d.Rows {
		return nil, fault.Invalid(d.URI(), "make it again", nil, "it has %d rows and its base %q has %d", d.Rows,
			base.URI(), base.Rows)
	}
	return &Source{d, base}, nil
}

// Part says how much of each row is read.
type Part bool

const (
	Whole Part = true
	Head  Part = false // without the payload: the conversation, the example
)

// atOnce is the number of rows that are decoded at once. A row may be large.
const atOnce = 16

// Each yields the rows of a range, in order. A row is valid until the next; an
// error is the last that is yielded.
func (s *Source) Each(ctx context.Context, r dataset.Range, part Part) iter.Seq2[*formats.Trajectory, error] {
	return s.each(ctx, r, func() (*dataset.Reader[formats.Trajectory], error) {
		if part == Head {
			return dataset.NewHeadReader[formats.Trajectory](ctx, s.Base, r)
		}
		return dataset.NewReader[formats.Trajectory](ctx, s.Base, "", r)
	})
}

func (s *Source) each(ctx context.Context, r dataset.Range,
	open func() (*dataset.Reader[formats.Trajectory], error)) iter.Seq2[*formats.Trajectory, error] {
	return func(yield func(*formats.Trajectory, error) bool) {
		join, stop := s.joiner(ctx, r)
		defer stop()
		rd, err := open()
		if err != nil {
			yield(nil, err)
			return
		}
		for t, err := range rd.Each(atOnce) {
			if err == nil {
				err = join(t)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Groups calls f with the adjacent rows of each group. They are f's until it
// returns. Of their payload they have the columns for which keep returns true, or
// all when keep is nil.
func (s *Source) Groups(ctx context.Context, keep func(column string) bool, f func(rows []formats.Trajectory) error) error {
	var rd *dataset.Reader[formats.Trajectory]
	rows := s.each(ctx, s.Base.All(), func() (_ *dataset.Reader[formats.Trajectory], err error) {
		if keep == nil {
			rd, err = dataset.NewReader[formats.Trajectory](ctx, s.Base, "", s.Base.All())
		} else {
			rd, err = dataset.NewReaderOf[formats.Trajectory](ctx, s.Base, s.Base.All(), columnsWith(keep))
		}
		return rd, err
	})
	done := int64(0)
	return dataset.GroupsOf(rows, (*formats.Trajectory).Group, func(group []formats.Trajectory) error {
		err := f(group)
		done += int64(len(group))
		clear(group)
		rd.Done(done, false)
		return err
	})
}

// columnsWith returns the columns of a trajectory, and those of its payload for which
// keep returns true.
func columnsWith(keep func(column string) bool) (names []string) {
	for _, c := range schema.Columns(schema.KindTrajectories) {
		if !c.Payload || keep(c.Path) {
			names = append(names, c.Path)
		}
	}
	return names
}

// joiner returns a function that gives the base's rows, one after the other, the
// columns of the thin dataset. Scored rows have no advantage: the base's was
// made of other rewards.
func (s *Source) joiner(ctx context.Context, r dataset.Range) (join func(*formats.Trajectory) error, stop func()) {
	switch s.Rows.Kind {
	case schema.KindScores:
		return following(ctx, s.Rows, r, func(t *formats.Trajectory, r *formats.Score) string {
			t.Reward, t.Rewards, t.ShapedRewards = r.Reward, r.Rewards, r.ShapedRewards
			t.Advantage, t.Advantages, t.Losses = nil, nil, nil
			return r.TrajectoryID
		})
	case schema.KindGroups:
		return following(ctx, s.Rows, r, func(t *formats.Trajectory, r *formats.Member) string {
			t.Reward, t.Rewards, t.ShapedRewards = r.Reward, r.Rewards, r.ShapedRewards
			t.GroupID, t.Advantage, t.Advantages, t.Losses = r.GroupID, r.Advantage, r.Advantages, r.Losses
			return r.TrajectoryID
		})
	}
	return func(*formats.Trajectory) error { return nil }, func() {}
}

// following is joiner for one kind of row; set copies its columns and returns its id.
func following[T any](ctx context.Context, d *dataset.Dataset, r dataset.Range,
	set func(*formats.Trajectory, *T) string) (func(*formats.Trajectory) error, func()) {
	next, stop := iter.Pull2(dataset.Each[T](ctx, d, "", r))
	row := r.First - 1
	return func(t *formats.Trajectory) error {
		row++
		r, err, more := next()
		if err != nil {
			return err
		}
		id := ""
		if more {
			id = set(t, r)
		}
		if id != t.TrajectoryID {
			return &fault.Error{Kind: fault.Input, Place: d.URI(), Row: row,
				What: "it is about trajectory " + id + ", and its base's row about " + t.TrajectoryID,
				Help: "make the dataset again"}
		}
		return nil
	}, stop
}
