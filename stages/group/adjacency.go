package group

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/spill"
)

// errScattered means that the rows of a group are not adjacent, so that they have
// to be gathered first.
var errScattered = errors.New("the rows of a group are not adjacent")

// setMemory is the memory for finding repeated groups before it spills: a
// quarter of a million of them.
const setMemory = 8 << 20

// adjacency notices groups that occur twice. Two groups with the same hash cost
// time, and nothing else.
type adjacency struct {
	set  *spill.Set
	hash hasher
}

func newAdjacency(o *Options) *adjacency {
	return &adjacency{set: spill.NewSet(o.Spill.Dir, min(setMemory, o.Spill.Memory))}
}

func (t *adjacency) begins(key string, epoch int32) error {
	return scatteredIf(t.set.Add(t.hash.sum(key, epoch).Lo))
}

func (t *adjacency) end() error { return scatteredIf(t.set.Twice()) }

func scatteredIf(twice bool, err error) error {
	if err == nil && twice {
		return errScattered
	}
	return err
}

func (t *adjacency) close() { _ = t.set.Close() } // its content is no longer needed

// scattered reports whether it is known, before a row of the slice is grouped, that the rows of
// groups are not adjacent within slices. A dataset in one slice is checked while it is grouped.
// So is one that rollout or curate wrote, grouped by example: both keep an example's rows of one
// epoch together. Otherwise the keys of all rows have to be read.
func (src *input) scattered(ctx context.Context, o *Options, slice dataset.Range) (bool, error) {
	if slice == src.base.All() {
		return false, nil
	}
	for _, edge := range []int64{slice.First, slice.First + slice.Rows} {
		cut, err := src.cuts(ctx, edge)
		if cut || err != nil {
			return cut, err
		}
	}
	if slice.Rows > 0 && src.by == nil && (src.base.Stage == "rollout" || src.base.Stage == "curate") {
		return false, nil
	}
	t := newAdjacency(o)
	defer t.close()
	var last string
	var lastEpoch int32
	err := src.eachKey(ctx, src.base.All(), func(at int64, key string, epoch int32) error {
		if at > 0 && key == last && epoch == lastEpoch {
			return nil
		}
		last, lastEpoch = key, epoch
		return t.begins(key, epoch)
	})
	if err == nil {
		err = t.end()
	}
	if errors.Is(err, errScattered) {
		return true, nil
	}
	return false, err
}

// cuts reports whether a group has rows on both sides of an edge.
func (src *input) cuts(ctx context.Context, edge int64) (bool, error) {
	if edge == 0 || edge == src.base.Rows {
		return false, nil
	}
	k, err := openKeyed(ctx, src, dataset.Range{First: edge - 1, Rows: 2}, func(row *ids) *ids { return row })
	if err != nil {
		return false, err
	}
	defer k.close()
	var rows []ids
	err = k.each(0, func(_ int64, key string, row *ids) error {
		r := *row
		if r.ForkedFrom, r.ForkCall = "", nil; src.by != nil { // forks may lie among the attempts
			r.ExampleID = key
		}
		rows = append(rows, r)
		return nil
	})
	return err == nil && rows[0] == rows[1], err
}
