package find

import (
	"context"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Located holds the rows of a trajectory.
type Located struct {
	ID   string
	Rows map[*dataset.Dataset]int64 // in a curated dataset, the row of _decisions
}

type idColumn struct {
	TrajectoryID string `parquet:"trajectory_id"`
}

// Locate finds the rows of a trajectory. The row of a thin dataset follows from the
// row of its base, so it searches only bases, and datasets whose base was not found.
func (g *Found) Locate(ctx context.Context, id string) (*Located, error) {
	whole, err := g.CompleteID(ctx, id)
	if err != nil {
		return nil, err
	}
	at := &Located{ID: whole, Rows: map[*dataset.Dataset]int64{}}
	for _, d := range g.Datasets {
		row, err := g.find(ctx, d, at)
		if err != nil {
			return nil, err
		}
		if row >= 0 {
			at.Rows[d] = row
		}
	}
	if len(at.Rows) > 0 {
		return at, nil
	}
	hint, err := g.Nearest(ctx, id)
	if err != nil {
		return nil, err
	}
	return nil, fault.Invalid(g.Root, hint, nil, "none of the %s here has trajectory %q",
		plural.Of(len(g.Datasets), "dataset"), id)
}

// find returns the row of the trajectory in one dataset, or -1.
func (g *Found) find(ctx context.Context, d *dataset.Dataset, at *Located) (int64, error) {
	table := idTable(d)
	if row, known := g.derivedRow(d, at); known {
		if row < 0 || row >= d.AllOf(table).Rows {
			return -1, nil
		}
		r, err := ReadRow[idColumn](ctx, d, table, row)
		if err != nil || r.TrajectoryID == at.ID {
			return row, err
		}
	}
	return Scan(ctx, d, table, func(id string) bool { return id == at.ID })
}

// derivedRow returns the row of a derived dataset that corresponds to the row of
// its base. known is false if no base was searched. Bases are sorted before the
// datasets that were made from them.
func (g *Found) derivedRow(d *dataset.Dataset, at *Located) (row int64, known bool) {
	for base, row := range at.Rows {
		if base != d && (base.Is(d.Base) || d.Stage == StageCurate && len(d.Inputs) > 0 && base.Is(&d.Inputs[0])) {
			return row, true
		}
	}
	known = d.Base != nil && g.Has(func(o *dataset.Dataset) bool { return o.Is(d.Base) && o.Stage == stageRollout })
	return -1, known
}

// idTable returns the table with all trajectories of a dataset. That of a curated
// dataset also has the dropped ones.
func idTable(d *dataset.Dataset) string {
	if d.Stage == StageCurate {
		return schema.TableDecisions
	}
	return ""
}

// Scan reads the ids of a table and returns the first wanted row, or -1.
func Scan(ctx context.Context, d *dataset.Dataset, table string, wanted func(id string) bool) (int64, error) {
	row := int64(0)
	for c, err := range dataset.Each[idColumn](ctx, d, table, d.AllOf(table)) {
		if err != nil {
			return -1, err
		}
		if wanted(c.TrajectoryID) {
			return row, nil
		}
		row++
	}
	return -1, nil
}
