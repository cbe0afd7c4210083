package score

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage/fault"
)

// scoreReader reads scores row by row together with their trajectories. A nil
// scoreReader has none.
type scoreReader struct {
	*dataset.Reader[formats.Score]
	place string // for errors
}

func openScoreReader(ctx context.Context, d *dataset.Dataset, r dataset.Range) (*scoreReader, error) {
	reader, err := dataset.NewReader[formats.Score](ctx, d, "", r)
	if err != nil {
		return nil, err
	}
	return &scoreReader{reader, d.URI()}, nil
}

func (a *scoreReader) close() error {
	if a == nil {
		return nil
	}
	return a.Close()
}

func (a *scoreReader) skip(rows int64) error {
	if a == nil {
		return nil
	}
	return a.Skip(rows)
}

// next returns the scores of the next rows, beginning at row first; none when a is nil.
func (a *scoreReader) next(rows []*Row, first int64) ([]formats.Score, error) {
	if a == nil {
		return nil, nil
	}
	scores := make([]formats.Score, len(rows))
	if n, err := a.Read(scores); n < len(scores) {
		if errors.Is(err, io.EOF) {
			err = a.misaligned(first+int64(n), "the scores end before the trajectories do")
		}
		return nil, err
	}
	for i := range rows {
		if scores[i].TrajectoryID != rows[i].TrajectoryID {
			return nil, a.misaligned(first+int64(i),
				fmt.Sprintf("it is the score of %q, but that row of the base is %q", scores[i].TrajectoryID,
					rows[i].TrajectoryID))
		}
	}
	return scores, nil
}

func (a *scoreReader) misaligned(row int64, what string) error {
	return fault.Invalid(a.place, "score the trajectories again, into another dataset", nil, "%s", what).InRow(row)
}
