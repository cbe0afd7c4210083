package score

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// extends reports whether a dataset holds the rows of another, in their order,
// with more among them: rollout wrote it so, in one or more steps.
func extends(ctx context.Context, d *dataset.Dataset, other *dataset.Ref) (bool, error) {
	for other != nil && d.Stage == "rollout" {
		at := slices.IndexFunc(d.Inputs, func(r dataset.Ref) bool { return r.Role == "base" })
		if at < 0 || d.Inputs[at].Digest == other.Digest {
			return at >= 0, nil
		}
		var err error
		if d, err = d.OpenRef(ctx, d.Inputs[at]); err != nil {
			return false, err
		}
	}
	return false, nil
}

// extendedScores reads the scores of a dataset that the base extends: scores
// of some rows of the base, in its order. A nil extendedScores has none.
type extendedScores struct {
	*ahead[formats.Score]
	place string // for errors
	end   int64  // rows of the base
}

// openExtended finds the scores of a slice of the base.
func openExtended(ctx context.Context, d, base *dataset.Dataset, slice dataset.Range) (*extendedScores, error) {
	first, err := scoresBefore(ctx, d, base, slice.First)
	if err != nil {
		return nil, err
	}
	scores, err := readAhead[formats.Score](ctx, d, dataset.Range{First: first, Rows: d.Rows - first})
	return &extendedScores{scores, d.URI(), base.Rows}, err
}

// scoresBefore counts the scores of the base's first rows.
func scoresBefore(ctx context.Context, d, base *dataset.Dataset, rows int64) (n int64, err error) {
	if rows == 0 {
		return 0, nil
	}
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	all, err := readAhead[id](ctx, base, dataset.Range{Rows: rows})
	if err != nil {
		return 0, err
	}
	defer all.close()
	some, err := readAhead[id](ctx, d, d.All())
	if err != nil {
		return 0, err
	}
	defer some.close()
	for all.row != nil && some.row != nil {
		if *all.row == *some.row {
			n++
			err = some.next()
		}
		if err = errors.Join(err, all.next()); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// join gives the rows, beginning at row first, the scores that some of them
// had.
func (f *extendedScores) join(rows []*Row, first int64) error {
	if f == nil {
		return nil
	}
	for _, r := range rows {
		r.copied = newCopiedRow(&formats.Score{})
		if f.row == nil || f.row.TrajectoryID != r.TrajectoryID {
			continue
		}
		was := *f.row
		r.copied = newCopiedRow(&was)
		if err := f.next(); err != nil {
			return err
		}
	}
	if f.row != nil && first+int64(len(rows)) == f.end {
		return formats.Invalid(f.place, "carry over scores of the same trajectories", nil,
			"it scores trajectory %q, which is missing or in another order", f.row.TrajectoryID)
	}
	return nil
}

func (f *extendedScores) close() error {
	if f == nil || f.ahead == nil {
		return nil
	}
	return f.ahead.close()
}

// ahead reads rows of a table one by one, and gives access to the next.
type ahead[T any] struct {
	r   *dataset.Reader[T]
	buf []T
	at  int // of row in buf
	n   int // rows in buf
	row *T  // nil after the last
}

func readAhead[T any](ctx context.Context, d *dataset.Dataset, slice dataset.Range) (*ahead[T], error) {
	r, err := dataset.NewReader[T](ctx, d, "", slice)
	if err != nil {
		return nil, err
	}
	a := &ahead[T]{r: r, at: -1}
	return a, a.next()
}

func (a *ahead[T]) next() error {
	if a.at++; a.at >= a.n {
		a.buf = make([]T, 256) // the rows before may be kept
		n, err := a.r.Read(a.buf)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		a.at, a.n = 0, n
	}
	if a.row = nil; a.at < a.n {
		a.row = &a.buf[a.at]
	}
	return nil
}

func (a *ahead[T]) close() error { return a.r.Close() }
