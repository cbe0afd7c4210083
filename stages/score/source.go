package score

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// source reads a range of trajectories, with the needed columns, and with the
// rewards that earlier scores gave to each.
type source struct {
	base     rowReader
	stored   rowReader // the rewards with which trajectories came; nil when no reward reads them
	scores   *aligned  // to carry forward; nil without
	before   *aligned  // whose rows are carried over; nil without
	previous *previous // the same, of a dataset that the base extends; nil without
	first    int64     // row of the next trajectory, for errors
	held     []*Row    // read, but its group may continue
	ended    bool
}

type rowReader interface {
	next(n int) ([]formats.Trajectory, error)
	close() error
}

func openSource(ctx context.Context, in *input, r dataset.Range, rewards built) (*source, error) {
	base, err := openRows(ctx, in.base, r, rewards.needs())
	if err != nil {
		return nil, err
	}
	s := &source{base: base, first: r.First}
	if rewards.stored() {
		s.stored, err = openColumns(ctx, in.base, r, (*brought).trajectory)
	}
	if in.scores != nil && err == nil {
		s.scores, err = openAligned(ctx, in.scores, r)
	}
	switch {
	case in.earlier == nil || err != nil:
	case in.earlier.extended:
		s.previous, err = openPrevious(ctx, in.earlier.Dataset, in.base, r)
	default:
		s.before, err = openAligned(ctx, in.earlier.Dataset, r)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func openRows(ctx context.Context, d *dataset.Dataset, r dataset.Range, needs Needs) (rowReader, error) {
	switch needs {
	case Light:
		return openColumns(ctx, d, r, (*light).trajectory)
	case Head:
		return openColumns(ctx, d, r, (*head).trajectory)
	case Text:
		return openColumns(ctx, d, r, (*text).trajectory)
	default:
		return openColumns[formats.Trajectory](ctx, d, r, nil)
	}
}

func (s *source) close() error {
	var stored error
	if s.stored != nil {
		stored = s.stored.close()
	}
	return errors.Join(s.base.close(), stored, s.scores.close(), s.before.close(), s.previous.close())
}

// batch returns the next whole groups, about n rows or one larger group; none
// after the last.
func (s *source) batch(n int) ([]*Row, error) {
	rows := s.held
	s.held = nil
	for !s.ended {
		more, err := s.read(n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
		if cut := lastGroup(rows); !s.ended && len(rows) >= n && cut > 0 {
			s.held = rows[cut:]
			return rows[:cut:cut], nil
		}
	}
	return rows, nil
}

// lastGroup returns the index at which the last group among rows begins.
func lastGroup(rows []*Row) int {
	i := len(rows) - 1
	for i > 0 && sameGroup(rows[i-1], rows[i]) {
		i--
	}
	return i
}

func sameGroup(a, b *Row) bool { return a.ExampleID == b.ExampleID && a.Epoch == b.Epoch }

func (s *source) read(n int) ([]*Row, error) {
	trajectories, err := s.base.next(n)
	if s.ended = errors.Is(err, io.EOF); err != nil && !s.ended {
		return nil, err
	}
	all, rows := make([]Row, len(trajectories)), make([]*Row, len(trajectories))
	for i := range trajectories {
		all[i].Trajectory = &trajectories[i]
		rows[i] = &all[i]
	}
	if s.stored != nil {
		with, err := s.stored.next(len(rows))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for i := range with {
			rows[i].Trajectory.Reward, rows[i].Rewards = with[i].Reward, with[i].Rewards
		}
	}
	if err := s.join(rows); err != nil {
		return nil, err
	}
	s.first += int64(len(rows))
	return rows, nil
}

// join gives each row its earlier rewards.
func (s *source) join(rows []*Row) error {
	scores, err := s.scores.next(rows, s.first)
	if err != nil {
		return err
	}
	for i := range scores {
		rows[i].Earlier = scores[i].Rewards
		rows[i].shaped = scores[i].ShapedRewards
	}
	scores, err = s.before.next(rows, s.first)
	for i := range scores {
		rows[i].before = newBefore(&scores[i])
	}
	return errors.Join(err, s.previous.join(rows, s.first))
}

// columnReader reads rows of T, some of a trajectory's columns.
type columnReader[T any] struct {
	*dataset.Reader[T]
	set func(*T, *formats.Trajectory) // nil: T is a trajectory
	buf []T
}

func openColumns[T any](ctx context.Context, d *dataset.Dataset, r dataset.Range, set func(*T, *formats.Trajectory)) (rowReader, error) {
	reader, err := dataset.NewReader[T](ctx, d, "", r)
	if err != nil {
		return nil, err
	}
	return &columnReader[T]{Reader: reader, set: set}, nil
}

func (c *columnReader[T]) close() error { return c.Close() }

func (c *columnReader[T]) next(n int) ([]formats.Trajectory, error) {
	out := make([]formats.Trajectory, n)
	if rows, whole := any(out).([]T); whole && c.set == nil {
		n, err := c.Read(rows)
		return out[:n], err
	}
	c.buf = slices.Grow(c.buf[:0], n)[:n]
	n, err := c.Read(c.buf)
	for i := range c.buf[:n] {
		c.set(&c.buf[i], &out[i])
	}
	return out[:n], err
}
