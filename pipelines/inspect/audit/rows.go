package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/zeebo/xxh3"

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

// repeatedRows is the number of rows whose digests are in memory at once, 16 bytes
// each. It is a variable for tests.
var repeatedRows int64 = 4 << 20

type ids struct {
	TrajectoryID string `parquet:"trajectory_id"`
}

// repeated finds trajectories that are in a dataset twice. If the rows do not fit
// into memory, it reads the ids once for each part of them.
func (a *auditor) repeated(ctx context.Context, d *dataset.Dataset) error {
	c := validate.Count{Of: d.Rows}
	few := map[xxh3.Uint128]bool{}
	shares := uint64(1 + d.Rows/repeatedRows)
	of := make([]xxh3.Uint128, 0, uint64(d.Rows)/shares*9/8)
	for share := range shares {
		of = of[:0]
		if err := eachID(ctx, d, func(_ int64, _ string, id xxh3.Uint128) {
			if id.Lo%shares == share {
				of = append(of, id)
			}
		}); err != nil {
			return err
		}
		c.N += twice(of, few)
	}
	if c.N == 0 {
		return nil
	}
	first := map[xxh3.Uint128]int64{}
	if err := eachID(ctx, d, func(row int64, id string, key xxh3.Uint128) {
		was, again := first[key]
		switch {
		case again && len(c.First) < validate.MaxPlaces:
			c.First = append(c.First, validate.PlaceOf(row, id, fmt.Sprintf("row %d has the same id", was)))
		case few[key] && !again:
			first[key] = row
		}
	}); err != nil {
		return err
	}
	a.findIn(d, checkRepeated, c.Over(0, "rows repeat a trajectory of an earlier row"))
	return nil
}

// twice counts repeated digests, and adds some of them to few.
func twice(of []xxh3.Uint128, few map[xxh3.Uint128]bool) (n int64) {
	slices.SortFunc(of, func(a, b xxh3.Uint128) int { return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo)) })
	for i := 1; i < len(of); i++ {
		if of[i] != of[i-1] {
			continue
		}
		n++
		if len(few) < validate.MaxPlaces {
			few[of[i]] = true
		}
	}
	return n
}

func eachID(ctx context.Context, d *dataset.Dataset, f func(row int64, id string, key xxh3.Uint128)) error {
	row := int64(0)
	for r, err := range dataset.Each[ids](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		f(row, r.TrajectoryID, xxh3.HashString128(r.TrajectoryID))
		row++
	}
	return nil
}
