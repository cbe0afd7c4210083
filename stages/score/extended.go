package score

import (
	"context"
	"errors"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage/fault"
)

// extends reports whether a dataset holds the rows of another, in their order,
// with more among them: rollout wrote it so, in one or more steps.
func extends(ctx context.Context, d *dataset.Dataset, other *manifest.Ref) (bool, error) {
	for other != nil && d.Stage == "rollout" {
		base := d.Input("base")
		if base == nil || base.Digest == other.Digest {
			return base != nil, nil
		}
		var err error
		if d, err = d.OpenRef(ctx, *base); err != nil {
			return false, err
		}
	}
	return false, nil
}

// extendedScores reads the scores of a dataset that the base extends: scores
// of some rows of the base, in its order. A nil extendedScores has none.
type extendedScores struct {
	next  func() (*formats.Score, error, bool)
	stop  func()
	place string         // for errors
	end   int64          // rows of the base
	row   *formats.Score // the next; nil after the last
}

// openExtended finds the scores of a slice of the base.
func openExtended(ctx context.Context, d, base *dataset.Dataset, slice dataset.Range) (*extendedScores, error) {
	first, err := scoresBefore(ctx, d, base, slice.First)
	if err != nil {
		return nil, err
	}
	f := &extendedScores{place: d.URI(), end: base.Rows}
	f.next, f.stop = iter.Pull2(dataset.Each[formats.Score](ctx, d, "", dataset.Range{First: first, Rows: d.Rows - first}))
	f.row, err, _ = f.next()
	return f, err
}

// scoresBefore counts the scores of the base's first rows.
func scoresBefore(ctx context.Context, d, base *dataset.Dataset, rows int64) (n int64, err error) {
	if rows == 0 {
		return 0, nil
	}
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	next, stop := iter.Pull2(dataset.Each[id](ctx, d, "", d.All()))
	defer stop()
	scored, err, more := next()
	for row, bad := range dataset.Each[id](ctx, base, "", dataset.Range{Rows: rows}) {
		if err = errors.Join(err, bad); err != nil {
			return 0, err
		}
		if !more {
			break
		}
		if *row == *scored {
			n++
			scored, err, more = next()
		}
	}
	return n, err
}

// join gives the rows, beginning at row first, the scores that some of them had.
func (f *extendedScores) join(rows []*Row, first int64) error {
	if f == nil {
		return nil
	}
	for _, r := range rows {
		r.copied = newCopiedRow(&formats.Score{})
		if f.row == nil || f.row.TrajectoryID != r.TrajectoryID {
			continue
		}
		r.copied = newCopiedRow(f.row)
		var err error
		if f.row, err, _ = f.next(); err != nil {
			return err
		}
	}
	if f.row != nil && first+int64(len(rows)) == f.end {
		return fault.Invalid(f.place, "carry over scores of the same trajectories", nil,
			"it scores trajectory %q, which is missing or in another order", f.row.TrajectoryID)
	}
	return nil
}

func (f *extendedScores) close() {
	if f != nil {
		f.stop()
	}
}
