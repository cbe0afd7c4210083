package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/validate"
)

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
