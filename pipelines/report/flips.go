package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/diff"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
)

// flips counts the attempts that an epoch's scores and others solve differently: further ones, or the agents' own if
// score ran the tests of tasks again. It returns a line where there are some.
func flips(ctx context.Context, root string, epochs []history.Epoch) (lines []string, err error) {
	for i := range epochs {
		e, found := &epochs[i], map[string]int64{}
		dir, err := history.Last(ctx, run.Layout{Root: root}.Epoch(e.Epoch), "score")
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Scores)),
			func(n string) bool { return strings.HasPrefix(n, "validation/") })
		if s := e.Made.Stages["score"]; s.Manifest != nil && strings.Contains(fmt.Sprint(s.Params["reward"]), "=harbor:") {
			names = append(names, "rollout")
		}
		for _, name := range names {
			a, b := storage.Join(dir, name), storage.Join(dir, "score")
			d, bad := diff.Diff(ctx, diff.DiffOptions{A: a, B: b, Solved: 1})
			if bad == nil {
				found[name] = d.FlippedRows
			} else if !errors.Is(bad, diff.ErrOther) && !errors.Is(bad, storage.ErrNotExist) {
				err = errors.Join(err, bad)
			}
			if found[name] > 0 {
				lines = append(lines, fmt.Sprintf("epoch %d: %d of %d rewards flip from %s to score: solved (1 or more) in one only, %d are null in one; "+
					"`rollmill diff %s %s` lists them", e.Epoch, d.FlippedRows, d.Compared, name, d.Gained+d.Lost, storage.Redact(a), storage.Redact(b)))
			}
		}
		if e.Flips = found; err != nil {
			return nil, err
		}
	}
	return lines, nil
}
