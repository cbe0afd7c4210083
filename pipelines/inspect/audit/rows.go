package audit

import (
	"context"
	"errors"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// rows calls f with every row of a dataset. f must not keep the row.
func rows(ctx context.Context, d *dataset.Dataset, payload bool, f func(*validate.Row)) error {
	switch d.Kind {
	case schema.KindScores:
		return thin(ctx, d, f, validate.ScoreRow)
	case schema.KindGroups:
		return thin(ctx, d, f, validate.MemberRow)
	}
	r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", d.All())
	if !payload {
		r, err = dataset.NewHeadReader[formats.Trajectory](ctx, d, d.All())
	}
	if err != nil {
		return err
	}
	known, row := d.Known() == nil, int64(0)
	for t, err := range r.Each(batch) {
		if err != nil {
			return err
		}
		if !known {
			t.PayloadDigest = "" // it covers columns that are not read
		}
		r := validate.WideRow(row, t)
		f(&r)
		row++
	}
	return nil
}

// batch is the number of rows with payload in memory at once.
const batch = 64

// thin reads a thin dataset together with its base. If the base is missing or damaged,
// another check reports it, and these checks run without it.
func thin[T any](ctx context.Context, d *dataset.Dataset, f func(*validate.Row), row func(int64, *T) validate.Row) error {
	base, stop := iter.Pull2(eachBase(ctx, d))
	defer stop()
	n := int64(0)
	for t, err := range dataset.Each[T](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		of, err, has := base()
		if err != nil && !errors.Is(err, fault.ErrInvalid) {
			return err
		}
		r := row(n, t)
		if has && err == nil {
			r.Tokens, r.Base = &of.SampledTokens, of.TrajectoryID
		}
		f(&r)
		n++
	}
	return nil
}

// baseRow has the columns of a base that the checks of a thin dataset use.
type baseRow struct {
	TrajectoryID  string `parquet:"trajectory_id"`
	SampledTokens int32  `parquet:"sampled_tokens,delta"`
}

func eachBase(ctx context.Context, d *dataset.Dataset) iter.Seq2[*baseRow, error] {
	base, err := d.OpenBase(ctx)
	if err != nil {
		return func(yield func(*baseRow, error) bool) { yield(nil, err) }
	}
	return dataset.Each[baseRow](ctx, base, "", base.All())
}
