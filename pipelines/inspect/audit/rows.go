package audit

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// Row is a row of a main table, whatever its kind: exactly one of the last
// three is set.
type Row struct {
	Number       int64
	TrajectoryID string
	Group        string // example and epoch; members of a group follow one another
	Status       string
	Reward       *float64
	Tokens       *int32 // sampled; nil when the base of a thin dataset is not here

	Trajectory *formats.Trajectory
	Score      *formats.Score
	Member     *formats.Member
}

// Valid tells whether the trajectory itself can be trained on.
func (r *Row) Valid() bool {
	return r.Status == formats.StatusOK || r.Status == formats.StatusTruncated
}

// rows calls f with every row of a dataset. f may keep nothing of it.
func rows(ctx context.Context, d *dataset.Dataset, f func(*Row)) error {
	switch d.Kind {
	case formats.KindScores:
		return thin(ctx, d, f, func(s *formats.Score) Row {
			return Row{TrajectoryID: s.TrajectoryID, Group: formats.GroupID(s.ExampleID, int(s.Epoch)), Status: s.Status, Reward: s.Reward, Score: s}
		})
	case formats.KindGroups:
		return thin(ctx, d, f, func(m *formats.Member) Row {
			return Row{TrajectoryID: m.TrajectoryID, Group: m.GroupID, Status: m.Status, Reward: m.Reward, Member: m}
		})
	}
	return each(ctx, d, func(number int64, t *formats.Trajectory) error {
		f(&Row{Number: number, TrajectoryID: t.TrajectoryID, Group: formats.GroupID(t.ExampleID, int(t.Epoch)), Status: t.Status,
			Reward: t.Reward, Tokens: &t.SampledTokens, Trajectory: t})
		return nil
	})
}

// lengths is what a thin dataset's checks want of its base.
type lengths struct {
	SampledTokens int32 `parquet:"sampled_tokens,delta"`
}

// thin reads a thin dataset beside its base's lengths, when the base is here.
func thin[T any](ctx context.Context, d *dataset.Dataset, f func(*Row), row func(*T) Row) error {
	var beside *dataset.Reader[lengths]
	if base, err := d.OpenBase(ctx); err == nil {
		if beside, err = dataset.NewReader[lengths](ctx, base, "", base.All()); err != nil {
			return err
		}
		defer beside.Close()
	}
	length := make([]lengths, 1)
	return each(ctx, d, func(number int64, t *T) error {
		r := row(t)
		r.Number = number
		if beside != nil {
			if _, err := beside.Read(length); err != nil {
				return err
			}
			r.Tokens = &length[0].SampledTokens
		}
		f(&r)
		return nil
	})
}

func each[T any](ctx context.Context, d *dataset.Dataset, f func(number int64, t *T) error) error {
	r, err := dataset.NewReader[T](ctx, d, "", d.All())
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]T, 64)
	for number := int64(0); ; {
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if err := f(number, &buf[i]); err != nil {
				return err
			}
			number++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
