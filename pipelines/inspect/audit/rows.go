package audit

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
)

// rows calls f with every row of a dataset. f may keep nothing of it.
func rows(ctx context.Context, d *dataset.Dataset, payload bool, f func(*validate.Row)) error {
	switch d.Kind {
	case formats.KindScores:
		return thin(ctx, d, f, func(s *formats.Score) validate.Row {
			return validate.Row{TrajectoryID: s.TrajectoryID, Group: formats.GroupID(s.ExampleID, int(s.Epoch)), Status: s.Status, Reward: s.Reward, Score: s}
		})
	case formats.KindGroups:
		return thin(ctx, d, f, func(m *formats.Member) validate.Row {
			return validate.Row{TrajectoryID: m.TrajectoryID, Group: m.GroupID, Status: m.Status, Reward: m.Reward, Member: m}
		})
	}
	open := dataset.NewHeadReader[formats.Trajectory]
	if payload {
		open = func(ctx context.Context, d *dataset.Dataset, r dataset.Range) (*dataset.Reader[formats.Trajectory], error) {
			return dataset.NewReader[formats.Trajectory](ctx, d, "", r)
		}
	}
	r, err := open(ctx, d, d.All())
	if err != nil {
		return err
	}
	return batches(r, func(first int64, list []formats.Trajectory) error {
		for i := range list {
			r := validate.WideRow(first+int64(i), &list[i])
			f(&r)
		}
		return nil
	})
}

// thin reads a thin dataset beside its base.
func thin[T any](ctx context.Context, d *dataset.Dataset, f func(*validate.Row), row func(*T) validate.Row) error {
	base, err := openBeside(ctx, d)
	if err != nil {
		return err
	}
	defer base.close()
	r, err := dataset.NewReader[T](ctx, d, "", d.All())
	if err != nil {
		return err
	}
	return batches(r, func(first int64, list []T) error {
		of, err := base.read(len(list))
		if err != nil {
			return err
		}
		for i := range list {
			r := row(&list[i])
			r.Number = first + int64(i)
			if of != nil {
				r.Tokens, r.Base = &of[i].SampledTokens, of[i].TrajectoryID
			}
			f(&r)
		}
		return nil
	})
}

// baseRow is what a thin dataset's checks want of its base.
type baseRow struct {
	TrajectoryID  string `parquet:"trajectory_id"`
	SampledTokens int32  `parquet:"sampled_tokens,delta"`
}

// beside walks along a base. One that is gone or damaged is a finding of its
// own; the checks do without.
type beside struct {
	r   *dataset.Reader[baseRow] // nil: do without
	buf []baseRow
}

func openBeside(ctx context.Context, d *dataset.Dataset) (*beside, error) {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return &beside{}, without(err)
	}
	r, err := dataset.NewReader[baseRow](ctx, base, "", base.All())
	return &beside{r: r, buf: make([]baseRow, batch)}, err
}

// without lets an error pass that a base itself is told of for.
func without(err error) error {
	if errors.Is(err, formats.ErrInvalid) {
		return nil
	}
	return err
}

// read returns the rows beside the next n, or nil to do without.
func (b *beside) read(n int) ([]baseRow, error) {
	if b.r == nil {
		return nil, nil
	}
	got, err := b.r.Read(b.buf[:n])
	if got == n {
		return b.buf[:n], nil
	}
	b.close()
	b.r = nil
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return nil, without(err)
}

func (b *beside) close() {
	if b.r != nil {
		b.r.Close()
	}
}

// batch is how many rows are in memory at once.
const batch = 64

// batches calls f with the rows of a reader in order, and closes it.
func batches[T any](r *dataset.Reader[T], f func(first int64, list []T) error) error {
	defer r.Close()
	buf := make([]T, batch)
	for first := int64(0); ; {
		n, err := r.Read(buf)
		if n > 0 {
			if err := f(first, buf[:n]); err != nil {
				return err
			}
		}
		first += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
