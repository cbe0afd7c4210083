package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/planning"
)

// writer writes a shard's rows: those of its tasks, among those of the dataset
// that is extended.
type writer struct {
	o       Options
	tasks   planning.Tasks
	base    *base // nil: nothing is extended
	kept    *kept // nil: no workspaces
	table   *shards.TableWriter[formats.Trajectory]
	skip    bool // missing attempts become skipped rows
	outcome shards.Outcome
}

// write writes the journalled rows in the order of tasks and generations, one
// group at a time.
func (w *writer) write(ctx context.Context, journal *journals.Journal[formats.Trajectory]) (shards.Outcome, error) {
	w.outcome.Facts = map[string]float64{}
	next := 0
	var group []formats.Trajectory
	before := func(task int) error {
		for ; next < task; next++ {
			if err := w.task(ctx, next, group); err != nil {
				return err
			}
			group = nil
		}
		return nil
	}
	for rows, err := range journal.Sorted(ctx, w.rank) {
		if err != nil {
			return w.outcome, err
		}
		rank, err := w.rank(&rows[0])
		if err = cmp.Or(err, before(int(rank/2))); err != nil {
			return w.outcome, err
		}
		group = append(group, rows...)
	}
	if err := before(w.tasks.Len()); err != nil || w.base == nil {
		return w.outcome, err
	}
	return w.outcome, w.base.rest(ctx, w)
}

// rank returns a row's sort key, two values for each task: of rows with equal
// rank the journal gives the first. A failure has a rank of its own, so that a
// later attempt that succeeded is seen as well.
func (w *writer) rank(t *formats.Trajectory) (int64, error) {
	task, _, ok, err := w.o.locate(w.tasks, keyOf(t))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("rollout: the journal holds generation %d of example %q in epoch %d of run %q, which is not "+
			"among the tasks", t.Generation, t.ExampleID, t.Epoch, t.Run)
	}
	return 2*int64(task) + int64(failed(*t)), nil
}

// task writes the rows of one task, after the rows that precede them in the
// dataset that is extended.
func (w *writer) task(ctx context.Context, i int, rows []formats.Trajectory) error {
	t := w.tasks.At(i)
	if w.skip {
		var err error
		if rows, err = w.fillUp(t, rows); err != nil {
			return err
		}
	}
	rows, err := settleGroup(t, rows)
	if err != nil {
		return err
	}
	for k := range rows {
		count(&w.outcome, &rows[k])
		if w.base != nil {
			w.outcome.Facts[factAdded]++
			w.outcome.Facts[factAddedFailed] += float64(lost(rows[k]))
		}
	}
	if err := w.kept.add(ctx, rows); err != nil {
		return err
	}
	if len(rows) > 1 && formats.MixedPrompts(rows, new(uint64)) {
		w.outcome.Facts[formats.FactMixedPrompts]++
	}
	if w.base == nil {
		w.outcome.Facts[factExamples]++
		return w.table.Write(ctx, rows)
	}
	return w.base.task(ctx, w, i, rows)
}

// fillUp adds skipped rows for the generations that were not made.
func (w *writer) fillUp(t planning.Task, rows []formats.Trajectory) ([]formats.Trajectory, error) {
	made := make([]bool, t.N)
	for i := range rows {
		made[rows[i].Generation-t.First] = true
	}
	if !slices.Contains(made, false) {
		return rows, nil
	}
	e, err := w.o.Examples.At(t.Example)
	for g, is := range made {
		if !is {
			row := w.o.row(e, t.First+int32(g), t.Fork(t.First+int32(g)))
			row.Status, row.StopReason = outcomes.StatusSkipped, outcomes.StopBudget
			rows = append(rows, row)
		}
	}
	return rows, err
}

// settleGroup sorts a group by generation and picks one row for each: one that
// did not fail, if there is one.
func settleGroup(t planning.Task, rows []formats.Trajectory) ([]formats.Trajectory, error) {
	slices.SortStableFunc(rows, func(a, b formats.Trajectory) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(failed(a), failed(b)))
	})
	rows = slices.CompactFunc(rows, func(a, b formats.Trajectory) bool { return a.Generation == b.Generation })
	if len(rows) != int(t.N) {
		return nil, fmt.Errorf("rollout: the journal holds %d of %d generations of an example", len(rows), t.N)
	}
	return rows, nil
}

// lost returns 1 for a row that stands for no trajectory.
func lost(t formats.Trajectory) int {
	if t.Status == outcomes.StatusSkipped {
		return 1
	}
	return failed(t)
}

func failed(t formats.Trajectory) int {
	if t.Status == outcomes.StatusFailed {
		return 1
	}
	return 0
}
