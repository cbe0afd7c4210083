package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/fault"
)

// reader reads rows as dataset.Reader does.
type reader[T any] interface {
	Read([]T) (int, error)
	Close() error
}

// open reads a range of the rows that are grouped, with the rewards of all scores if T has any.
func open[T any](ctx context.Context, in *input, r dataset.Range) (reader[T], error) {
	rows, err := dataset.NewReader[T](ctx, in.rows, "", r)
	first, rewards := any(rows).(*dataset.Reader[row])
	if err != nil || !rewards || len(in.more) == 0 {
		return rows, err
	}
	j := &joinedScores{in: in, Reader: first, next: r.First}
	for _, d := range in.more {
		more, err := dataset.NewReader[row](ctx, d, "", r)
		if err != nil {
			return nil, errors.Join(err, j.Close())
		}
		j.more = append(j.more, more)
	}
	return any(j).(reader[T]), nil
}

// joinedScores reads rows with the named rewards of several scores of the same
// trajectories, and their total, summed as score would.
type joinedScores struct {
	in *input
	*dataset.Reader[row]
	more []*dataset.Reader[row]
	buf  []row
	next int64 // row of the base
}

func (j *joinedScores) Read(rows []row) (int, error) {
	n, err := j.Reader.Read(rows)
	j.buf = slices.Grow(j.buf[:0], n)[:n]
	for k, r := range j.more {
		clear(j.buf)
		for at := 0; at < n; {
			m, bad := r.Read(j.buf[at:])
			if at += m; bad != nil && (at < n || !errors.Is(bad, io.EOF)) {
				return 0, fmt.Errorf("%s: %w", j.in.more[k].URI(), bad)
			}
		}
		for i := range j.buf {
			if bad := rows[i].join(&j.buf[i]); bad != nil {
				return 0, fault.Invalid(j.in.more[k].URI(), "score the trajectories again, under another name", nil,
					"with %q: %v", j.in.rows.URI(), bad).InRow(j.next + int64(i))
			}
		}
	}
	for i := range rows[:n] {
		rows[i].sum()
	}
	j.next += int64(n)
	return n, err
}

func (j *joinedScores) Close() error {
	err := j.Reader.Close()
	for _, r := range j.more {
		err = errors.Join(err, r.Close())
	}
	return err
}

// join adds the rewards of another score of the same trajectory.
func (r *row) join(o *row) error {
	if r.TrajectoryID != o.TrajectoryID {
		return fmt.Errorf("it scores trajectory %q where the other has %q", o.TrajectoryID, r.TrajectoryID)
	}
	for _, a := range o.Rewards {
		if slices.ContainsFunc(r.Rewards, func(b formats.NamedReward) bool { return a.Name == b.Name }) {
			return fmt.Errorf("both have a reward %q", a.Name)
		}
	}
	r.Rewards = slices.Concat(r.Rewards, o.Rewards)
	if r.ShapedRewards == nil || o.ShapedRewards == nil {
		r.ShapedRewards = append(r.ShapedRewards, o.ShapedRewards...)
		return nil
	}
	if len(r.ShapedRewards) != len(o.ShapedRewards) {
		return fmt.Errorf("trajectory %q has %d shaped rewards in one and %d in the other", r.TrajectoryID,
			len(r.ShapedRewards), len(o.ShapedRewards))
	}
	for i, s := range o.ShapedRewards {
		r.ShapedRewards[i] += s
	}
	return nil
}

// sum computes the total: null if a reward that counts has no value.
func (r *row) sum() {
	total, counting, missing := formats.WeightedSum(r.Rewards)
	if r.Reward = &total; counting == 0 || missing != nil || math.IsNaN(total) || math.IsInf(total, 0) {
		r.Reward, r.ShapedRewards = nil, nil
	}
}
