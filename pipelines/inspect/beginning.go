package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// idLength is the length of an id that rollout gives. Others give their own.
var idLength = len(formats.TrajectoryID("", "", 0, 0))

// maxNamed is how many ids a hint names, and so how many are kept in memory.
const maxNamed = 5

// whole makes the beginning of an id the id. What is an id itself stays one,
// also when others begin with it.
func (g *Found) whole(ctx context.Context, at *located) error {
	if len(at.id) >= idLength {
		return nil
	}
	begin := map[string]bool{}
	is := false
	err := g.everyID(ctx, func(id string) bool {
		is = id == at.id
		if len(begin) <= maxNamed && strings.HasPrefix(id, at.id) {
			begin[strings.Clone(id)] = true
		}
		return is
	})
	if err != nil || is {
		return err
	}
	ids := slices.Sorted(maps.Keys(begin))
	switch {
	case len(ids) > maxNamed:
		return formats.Invalid(g.Root, "give more of the id", nil, "more than %d trajectories begin with %q", maxNamed, at.id)
	case len(ids) > 1:
		return formats.Invalid(g.Root, "give more of the id: "+strings.Join(ids, ", "), nil, "%d trajectories begin with %q", len(ids), at.id)
	case len(ids) == 1:
		at.id = ids[0]
	}
	return nil
}

// minShared is how much of its beginning an id shares with one that may have
// been meant: among few thousand ids, more than chance gives.
const minShared = 4

// nearest is a hint with the ids that share most of their beginning with one
// that is nowhere.
func (g *Found) nearest(ctx context.Context, id string) (string, error) {
	most := minShared
	near := map[string]bool{}
	err := g.everyID(ctx, func(other string) bool {
		n := shared(id, other)
		if n > most {
			most = n
			clear(near)
		}
		if n == most && len(near) < maxNamed {
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

// everyID calls f with the ids of all trajectories here until it returns
// true, at least once with each. The id is only lent.
func (g *Found) everyID(ctx context.Context, f func(id string) bool) error {
	for _, d := range g.Datasets {
		if g.repeats(d) {
			continue
		}
		if row, err := scan(ctx, d, idTable(d), f); err != nil || row >= 0 {
			return err
		}
	}
	return nil
}

// repeats reports whether a dataset has the trajectories of others that are
// here, and no more.
func (g *Found) repeats(d *dataset.Dataset) bool {
	if d.Kind == formats.KindTrajectories && d.Stage != stageCurate {
		return false
	}
	for _, ref := range d.Inputs {
		if tells(ref) && !g.has(func(o *dataset.Dataset) bool { return o.Is(&ref) }) {
			return false
		}
	}
	return len(d.Inputs) > 0
}
