package find

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
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

// idLength is the length of the ids that rollout makes. Other programs make their
// own.
var idLength = len(formats.TrajectoryID("", "", 0, 0))

// MaxNamed is the number of ids in a hint, and so the number kept in memory.
const MaxNamed = 5

// CompleteID returns the id that begins with a text. A text that is itself an id is
// returned, even if it is a prefix of others, and so is one with which no id begins.
func (g *Found) CompleteID(ctx context.Context, prefix string) (string, error) {
	if len(prefix) >= idLength {
		return prefix, nil
	}
	begin := map[string]bool{}
	is := false
	err := g.everyID(ctx, func(id string) bool {
		is = id == prefix
		if len(begin) <= MaxNamed && strings.HasPrefix(id, prefix) {
			begin[strings.Clone(id)] = true
		}
		return is
	})
	ids := slices.Sorted(maps.Keys(begin))
	switch n := len(ids); {
	case err != nil || is || n == 0:
		return prefix, err
	case n > MaxNamed:
		return "", fault.Invalid(g.Root, "give more of the id", nil, "more than %d trajectories begin with %q", MaxNamed, prefix)
	case n > 1:
		return "", fault.Invalid(g.Root, "give more of the id: "+strings.Join(ids, ", "), nil,
			"%d trajectories begin with %q", n, prefix)
	}
	return ids[0], nil
}

// minShared is the length of the common prefix from which an id is suggested: among
// a few thousand ids, it is more than chance gives.
const minShared = 4

// Nearest returns a hint with the ids that have the longest common prefix with an
// unknown id.
func (g *Found) Nearest(ctx context.Context, id string) (string, error) {
	longest := minShared
	near := map[string]bool{}
	err := g.everyID(ctx, func(other string) bool {
		n := shared(id, other)
		if n > longest {
			longest = n
			clear(near)
		}
		if n == longest && len(near) < MaxNamed {
			near[strings.Clone(other)] = true
		}
		return false
	})
	if len(near) == 0 {
		return "ids are in column trajectory_id: rollmill show DATASET", err
	}
	return "was it " + strings.Join(slices.Sorted(maps.Keys(near)), " or ") + "?", err
}

func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// everyID calls f with the ids of all trajectories, each at least once, until f
// returns true. f must not keep the id.
func (g *Found) everyID(ctx context.Context, f func(id string) bool) error {
	for _, d := range g.Datasets {
		if g.repeats(d) {
			continue
		}
		if row, err := Scan(ctx, d, idTable(d), f); err != nil || row >= 0 {
			return err
		}
	}
	return nil
}

// repeats reports whether a dataset has only trajectories of other datasets that
// were found.
func (g *Found) repeats(d *dataset.Dataset) bool {
	if d.Kind == schema.KindTrajectories && d.Stage != StageCurate {
		return false
	}
	for _, ref := range d.Inputs {
		if hasTrajectories(ref) && !g.Has(func(o *dataset.Dataset) bool { return o.Is(&ref) }) {
			return false
		}
	}
	return len(d.Inputs) > 0
}
