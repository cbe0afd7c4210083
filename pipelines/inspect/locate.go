package inspect

import (
	"context"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// located is where a trajectory is.
type located struct {
	id   string
	rows map[*dataset.Dataset]int64 // of curated ones, in _decisions
}

type idColumn struct {
	TrajectoryID string `parquet:"trajectory_id"`
}

// locate finds the rows of a trajectory. A thin dataset's row stands beside
// its base's, so only bases are searched, and those whose base is not here.
func (g *Found) locate(ctx context.Context, id string) (*located, error) {
	at := &located{id: id, rows: map[*dataset.Dataset]int64{}}
	if err := g.whole(ctx, at); err != nil {
		return nil, err
	}
	for _, d := range g.Datasets {
		row, err := g.find(ctx, d, at)
		if err != nil {
			return nil, err
		}
		if row >= 0 {
			at.rows[d] = row
		}
	}
	if len(at.rows) > 0 {
		return at, nil
	}
	hint, err := g.nearest(ctx, id)
	if err != nil {
		return nil, err
	}
	return nil, formats.Invalid(g.Root, hint, nil, "none of the %d datasets here has trajectory %q", len(g.Datasets), id)
}

// find is the row of the trajectory in one dataset, or -1.
func (g *Found) find(ctx context.Context, d *dataset.Dataset, at *located) (int64, error) {
	table := idTable(d)
	if row, known := g.beside(d, at); known {
		if row < 0 || row >= tableRows(d, table) {
			return -1, nil
		}
		r, err := one[idColumn](ctx, d, table, row)
		if err != nil || r.TrajectoryID == at.id {
			return row, err
		}
	}
	return scan(ctx, d, table, func(id string) bool { return id == at.id })
}

// beside is the row that a base's row has in what was made of it, when its
// bases were searched: they are sorted before what is made of them.
func (g *Found) beside(d *dataset.Dataset, at *located) (row int64, known bool) {
	for base, row := range at.rows {
		if base != d && (base.Is(d.Base) || d.Stage == stageCurate && len(d.Inputs) > 0 && base.Is(&d.Inputs[0])) {
			return row, true
		}
	}
	known = d.Base != nil && g.has(func(o *dataset.Dataset) bool { return o.Is(d.Base) && o.Stage == stageRollout })
	return -1, known
}

// idTable is the table with every trajectory that a dataset tells of: of a
// curated one, also of those that it dropped.
func idTable(d *dataset.Dataset) string {
	if d.Stage == stageCurate {
		return formats.TableDecisions
	}
	return ""
}

func tableRows(d *dataset.Dataset, table string) int64 {
	if table == "" {
		return d.Rows
	}
	return d.Tables[table].Rows
}

func allOf(d *dataset.Dataset, table string) dataset.Range {
	return dataset.Range{Rows: tableRows(d, table)}
}

// scan reads the ids of a table and returns the first row that is wanted, or -1.
func scan(ctx context.Context, d *dataset.Dataset, table string, wanted func(id string) bool) (int64, error) {
	row := int64(0)
	for c, err := range dataset.Each[idColumn](ctx, d, table, allOf(d, table)) {
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
