package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// DiffEpochs compares the datasets whose folders in each of some epochs are A and B,
// and adds the differences up. An epoch that cannot be compared does not stop the
// others; the error names it. It keeps two numbers per row in memory.
func DiffEpochs(ctx context.Context, root string, epochs []int, o DiffOptions) (*Difference, error) {
	all := noDifference(o.A, o.B, o)
	var failed []error
	for _, e := range epochs {
		of := o
		dir, err := history.Last(ctx, run.Layout{Root: root}.Epoch(e), o.A)
		if err != nil {
			return nil, err
		}
		of.A, of.B = storage.Join(dir, o.A), storage.Join(dir, o.B)
		d, err := Diff(ctx, of)
		switch {
		case errors.Is(err, storage.ErrNotExist):
			all.Absent = append(all.Absent, e)
		case err != nil:
			failed = append(failed, fmt.Errorf("epoch %d: %w", e, err))
		default:
			d.Epoch = e
			all.add(d, of)
		}
	}
	if all.Epochs == nil && failed == nil {
		return nil, fault.Invalid(storage.Redact(root), "score --epochs --as NAME makes another dataset in each epoch",
			storage.ErrNotExist, "no epoch has both %q and %q", o.A, o.B)
	}
	all.Same = !slices.ContainsFunc(all.Epochs, func(e *Difference) bool { return !e.Same })
	all.sums()
	return all, errors.Join(failed...)
}

// counts are the sums over rows or groups.
func (d *Difference) counts() []*int64 {
	return []*int64{&d.Rows, &d.Compared, &d.Moved, &d.Up, &d.Down, &d.Gained, &d.Lost, &d.Neither, &d.Groups, &d.FlatA,
		&d.FlatB, &d.FlippedRows, &d.BecameFlat, &d.StoppedFlat, &d.SignFlipped, &d.SignToZero, &d.SignFrom0, &d.Flipped}
}

// add adds the difference of an epoch.
func (d *Difference) add(e *Difference, o DiffOptions) {
	d.Epochs = append(d.Epochs, e)
	counts := d.counts()
	for i, n := range e.counts() {
		*counts[i] += *n
	}
	history.AddCounts(d.LostTo, e.LostTo)
	history.AddCounts(d.GainedFrom, e.GainedFrom)
	for _, m := range e.Movers {
		d.mover(m, &o)
	}
	d.Flips = append(d.Flips, e.Flips[:min(len(e.Flips), o.Movers-len(d.Flips))]...)
	for _, end := range e.ends {
		d.ends = append(d.ends, len(d.Points)+end)
	}
	d.Points, e.Points, e.ends = append(d.Points, e.Points...), nil, nil
}
