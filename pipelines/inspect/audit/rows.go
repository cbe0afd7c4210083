package audit

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
)

// rows calls f with every row of a dataset. f must not keep the row.
func rows(ctx context.Context, d *dataset.Dataset, payload bool, f func(*validate.Row)) error {
	switch d.Kind {
	case formats.KindScores:
		return thin(ctx, d, f, validate.ScoreRow)
	case formats.KindGroups:
		return thin(ctx, d, f, validate.MemberRow)
	}
	r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", d.All())
	if !payload {
		r, err = dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All())
	}
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

// thin reads a thin dataset together with its base.
func thin[T any](ctx context.Context, d *dataset.Dataset, f func(*validate.Row), row func(int64, *T) validate.Row) error {
	base, err := openBase(ctx, d)
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
			r := row(first+int64(i), &list[i])
			if of != nil {
				r.Tokens, r.Base = &of[i].SampledTokens, of[i].TrajectoryID
			}
			f(&r)
		}
		return nil
	})
}

// baseRow has the columns of a base that the checks of a thin dataset use.
type baseRow struct {
	TrajectoryID  string `parquet:"trajectory_id"`
	SampledTokens int32  `parquet:"sampled_tokens,delta"`
}

// baseReader reads a base along with a thin dataset. If the base is missing or
// damaged, another check reports it, and these checks run without it.
type baseReader struct {
	r   *dataset.Reader[baseRow] // nil without a base
	buf []baseRow
}

func openBase(ctx context.Context, d *dataset.Dataset) (*baseReader, error) {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return &baseReader{}, ignoreDamage(err)
	}
	r, err := dataset.NewReader[baseRow](ctx, base, "", base.All())
	return &baseReader{r: r, buf: make([]baseRow, batch)}, err
}

// ignoreDamage returns nil for damage of a base, which another check reports.
func ignoreDamage(err error) error {
	if errors.Is(err, formats.ErrInvalid) {
		return nil
	}
	return err
}

// read returns the base's rows for the next n rows, or nil without a base.
func (b *baseReader) read(n int) ([]baseRow, error) {
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
	return nil, ignoreDamage(err)
}

func (b *baseReader) close() {
	if b.r != nil {
		b.r.Close()
	}
}

// batch is the number of rows in memory at once.
const batch = 64

// batches calls f with the rows of a reader in order, and closes the reader.
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
