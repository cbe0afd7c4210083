package find

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

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
		return "", fault.Invalid(g.Root, "give more of the id: "+strings.Join(ids, ", "), nil, "%d trajectories begin with %q", n, prefix)
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
