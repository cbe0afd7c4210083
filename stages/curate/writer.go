package curate

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
)

// writer writes a slice of the plan, group by group.
type writer struct {
	ctx       context.Context
	in        *input
	plan      *plan
	members   *dataset.Reader[formats.Member]
	source    *source
	rows      *dataset.TableWriter[formats.Trajectory]
	decisions *dataset.TableWriter[formats.Decision]
	meter     stages.Meter
	tally     tally

	group    []formats.Member
	verdicts []Verdict
	decided  []formats.Decision
}

func (w *writer) run(slice dataset.Range) error {
	groups, end := w.in.groups, slice.First+slice.Rows
	i := sort.Search(len(groups), func(i int) bool { return groups[i].FirstRow >= slice.First })
	for at := slice.First; at < end; i++ {
		if i == len(groups) || groups[i].FirstRow != at || at+int64(groups[i].Count) > end {
			return w.in.damaged("a group straddles row %d, where row groups of its base meet", at)
		}
		if err := w.one(i); err != nil {
			return err
		}
		at += int64(groups[i].Count)
		w.meter.Add(int64(groups[i].Count))
	}
	return w.flush()
}

// one decides about the members of a group and writes what is kept of it.
func (w *writer) one(i int) error {
	g := w.in.groups[i]
	w.group, w.verdicts = sized(w.group, g.Count), sized(w.verdicts, g.Count)
	if n, err := w.members.Read(w.group); n < g.Count {
		return errors.Join(w.in.damaged("group %q ends early", g.ID), notEOF(err))
	}
	clear(w.verdicts)
	for k := range w.group {
		if w.group[k].GroupID != g.ID {
			return w.in.damaged("trajectory %q is in group %q, not %q", w.group[k].TrajectoryID, w.group[k].GroupID, g.ID)
		}
	}
	if err := w.plan.members(i, g, w.group, w.verdicts); err != nil {
		return w.in.damaged("group %q: %v", g.ID, err)
	}
	kept, err := w.copy(g)
	if err != nil {
		return err
	}
	w.tally.add(w.group, w.verdicts, kept)
	for k := range w.group {
		w.decided = append(w.decided, decision(&w.group[k], w.verdicts[k]))
	}
	if len(w.decided) < 1000 {
		return nil
	}
	return w.flush()
}

func (w *writer) flush() error {
	err := w.decisions.Write(w.ctx, w.decided)
	w.decided = w.decided[:0]
	return err
}

func decision(m *formats.Member, v Verdict) formats.Decision {
	return formats.Decision{
		TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, GroupID: m.GroupID, Epoch: m.Epoch, Generation: m.Generation,
		Kept: v.Reason == "", Reason: v.Reason, Detail: v.Detail,
	}
}

// copy writes the kept rows of a group, with what score and group found, and
// returns them.
func (w *writer) copy(g Group) ([]formats.Trajectory, error) {
	any := false
	for _, v := range w.verdicts {
		any = any || v.Reason == ""
	}
	if !any {
		return nil, nil
	}
	rows, err := w.source.read(g.FirstRow, g.Count)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for k := range w.group {
		m := &w.group[k]
		if m.TrajectoryID != rows[k].TrajectoryID {
			e := formats.Invalid(w.in.members.URI(), "group the scores again", nil, "its row is trajectory %q, its base's %q is %q",
				m.TrajectoryID, w.in.base.URI(), rows[k].TrajectoryID)
			e.Row = g.FirstRow + int64(k)
			return nil, e
		}
		if w.verdicts[k].Reason == "" {
			t := rows[k]
			t.Reward, t.Rewards, t.ShapedRewards = m.Reward, m.Rewards, m.ShapedRewards
			t.GroupID, t.Advantage = m.GroupID, m.Advantage
			kept = append(kept, t)
		}
	}
	return kept, w.rows.Write(w.ctx, kept)
}

// source reads runs of rows of the base, in ascending order.
type source struct {
	ctx  context.Context
	base *dataset.Dataset
	end  int64 // of the slice
	next int64
	r    *dataset.Reader[formats.Trajectory]
	buf  []formats.Trajectory
}

// farAway is a gap that is worth a new reader: it leaves out whole row
// groups, while rows in between would be decoded anyway.
const farAway = 4096

func (s *source) read(first int64, n int) ([]formats.Trajectory, error) {
	if s.r == nil || first-s.next > farAway {
		s.close()
		r, err := dataset.NewReader[formats.Trajectory](s.ctx, s.base, "", dataset.Range{First: first, Rows: s.end - first})
		if err != nil {
			return nil, err
		}
		s.r, s.next = r, first
	}
	for s.next < first {
		k, err := s.fill(int(min(first-s.next, 64)))
		if err != nil {
			return nil, err
		}
		s.next += int64(k)
	}
	k, err := s.fill(n)
	s.next += int64(k)
	return s.buf, err
}

// fill reads exactly n rows.
func (s *source) fill(n int) (int, error) {
	s.buf = sized(s.buf, n)
	k, err := s.r.Read(s.buf)
	if k == n {
		return k, nil
	}
	if err = notEOF(err); err == nil {
		err = formats.Invalid(s.base.URI(), "", nil, "it ends at row %d", s.next+int64(k))
	}
	return k, err
}

func (s *source) close() {
	if s.r != nil {
		_ = s.r.Close() // it was only read
	}
}

// sized returns a slice of n elements, the old one's memory if it is enough.
func sized[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	return old[:n]
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
