package submit

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/backends"
)

// groups yields the dataset's groups in order. Each iteration reads it anew.
func groups(ctx context.Context, d *dataset.Dataset) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		stop := errors.New("stop")
		err := dataset.Groups(ctx, d, "", d.All(), (*formats.Trajectory).Group,
			func(_ int64, rows []formats.Trajectory) error {
				if !yield(rows, nil) {
					return stop
				}
				return nil
			})
		if err != nil && !errors.Is(err, stop) {
			yield(nil, err)
		}
	}
}

// runOf returns the run of the first row.
func runOf(ctx context.Context, d *dataset.Dataset) (string, error) {
	type row struct {
		Run string `parquet:"run,dict"`
	}
	rows, err := dataset.ReadAll[row](ctx, d, "", dataset.Range{Rows: min(1, d.Rows)})
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].Run, nil
}
