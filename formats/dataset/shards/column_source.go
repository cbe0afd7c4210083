package shards

import (
	"cmp"
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage"
)

// ColumnSource is a dataset of which another one has columns too, as members have
// those of scores, and scores those of trajectories. TableWriter.CopyColumns copies
// them by the row group, encoded as they are. It is for one goroutine.
type ColumnSource struct {
	ctx    context.Context
	d      *dataset.Dataset
	names  []string // of the columns; none: all that both have
	parts  []manifest.Part
	groups []sourceGroup
	part   int // the open one, -1 for none
	src    storage.Reader
	f      *parquet.File
	common any // *parquet.Common of f and the rows that have its columns
}

type sourceGroup struct {
	first, rows int64
	part, index int // in the part
}

// sourceRows is from how many rows on a row group is copied as it is; the rows
// of smaller ones are put together.
const sourceRows = 2048

// NewColumnSource names the columns that are copied; without names, these are all
// that both datasets have. It opens nothing yet; what is opened later uses ctx.
func NewColumnSource(ctx context.Context, d *dataset.Dataset, names ...string) *ColumnSource {
	r := &ColumnSource{ctx: ctx, d: d, names: names, parts: d.PartsOf(""), part: -1}
	first := int64(0)
	for p := range r.parts {
		for i, rows := range r.parts[p].RowGroups {
			if rows >= sourceRows {
				r.groups = append(r.groups, sourceGroup{first, rows, p, i})
			}
			first += rows
		}
	}
	return r
}

// RowGroup returns the number of rows of the row group that begins at a row; 0 if
// none does that can be copied.
func (r *ColumnSource) RowGroup(first int64) int64 {
	if g := r.at(first); g != nil {
		return g.rows
	}
	return 0
}

func (r *ColumnSource) at(first int64) *sourceGroup {
	i, found := slices.BinarySearchFunc(r.groups, first, func(g sourceGroup, first int64) int {
		return cmp.Compare(g.first, first)
	})
	if !found {
		return nil
	}
	return &r.groups[i]
}

// Close closes the part that is open.
func (r *ColumnSource) Close() error {
	if r.part < 0 {
		return nil
	}
	r.part = -1
	return r.src.Close()
}

// commonOf opens a part for rows of T.
func commonOf[T any](r *ColumnSource, part int) (*parquet.Common, error) {
	if r.part != part {
		if err := r.Close(); err != nil {
			return nil, err
		}
		var err error
		if r.src, r.f, err = r.d.OpenPart(r.ctx, r.parts[part]); err != nil {
			return nil, err
		}
		r.part = part
		if r.common, err = parquet.NewCommon[T](r.f, r.names...); err != nil {
			return nil, err
		}
	}
	return r.common.(*parquet.Common), nil
}
