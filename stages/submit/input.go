package submit

import (
	"context"
	"errors"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// groups yields the dataset's groups in order. Each iteration reads it anew.
func groups(ctx context.Context, d *dataset.Dataset) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		stop := errors.New("stop")
		seen := map[string]bool{} // of rows that no stage wrote: only their groups may not be adjacent
		err := dataset.Groups(ctx, d, "", d.All(), (*formats.Trajectory).Group,
			func(first int64, rows []formats.Trajectory) error {
				if name := rows[0].Group(); d.Plain {
					if seen[name] {
						return fault.Invalid(d.URI(),
							"sort the rows by group_id, or submit what score, group and curate make of them", nil,
							"the rows of group %q are not adjacent", name).InRow(first)
					}
					seen[strings.Clone(name)] = true
				}
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
