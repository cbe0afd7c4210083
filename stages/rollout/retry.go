package rollout

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/watch"
)

// retryOf is a parameter of the dataset that replaces one with failures: the
// identity of the replaced dataset, and the rows that it was made from.
const retryOf = "retry_of"

// before finds the sealed dataset that this command wrote earlier and sets spec
// to its identity. With RetryFailed and failures in it, spec becomes the
// identity of its successor, and before returns the dataset so that its good
// rows are kept. The successor replaces it when sealed; until then it stays
// readable.
func (o Options) before(ctx context.Context, spec *manifest.Spec) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, o.Out.URI, dataset.OpenOptions{Kind: spec.Kind, AcceptGates: []string{gateName}})
	if err != nil {
		return nil, ctx.Err() // no dataset; shards.Begin finds and reports any other error
	}
	first := spec.Identity()
	retried, _ := d.Params[retryOf].(map[string]any)
	if d.Identity != first && retried["first"] != first {
		return nil, nil
	}
	if !o.RetryFailed || lacks(d) == 0 {
		if retried != nil {
			spec.Params[retryOf] = retried
		}
		return nil, nil
	}
	if err := d.Known(); err != nil {
		return nil, err
	}
	spec.Params[retryOf] = map[string]any{"first": first, "rows": d.RowsDigest.String()}
	return d, nil
}

// lacks returns how many rows of a dataset are worth another attempt. Failures
// copied from an extended dataset stay as they are: the plan asks for
// replacements.
func lacks(d *dataset.Dataset) int64 {
	if _, extended := d.Facts[factAdded]; extended {
		return int64(d.Facts[factAddedFailed])
	}
	return d.Counts[outcomes.StatusFailed] + d.Counts[outcomes.StatusSkipped]
}

// carry copies the rows of this shard that did not fail from the dataset before
// into the journal, and records in done how often the rest was attempted.
func (o Options) carry(ctx context.Context, d *dataset.Dataset, journal *journals.Journal[formats.Trajectory],
	done *done, spent *watch.Spending) error {
	runs, err := o.findGood(ctx, d, done, spent)
	if err != nil {
		return err
	}
	for _, run := range runs {
		r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", run)
		if err != nil {
			return err
		}
		for left := run.Rows; left > 0 && err == nil; left -= 64 {
			var rows []formats.Trajectory
			if rows, err = r.Take(min(left, 64)); err == nil {
				err = journal.Append(ctx, rows)
			}
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// findGood finds the runs of rows to copy from the dataset before. Those that the journal has
// already cost nothing, and are taken out of spent.
func (o Options) findGood(ctx context.Context, d *dataset.Dataset, done *done, spent *watch.Spending) (runs []dataset.Range, err error) {
	at := int64(-1)
	done.fresh = 0
	rows := dataset.Each[paid](ctx, d, "", d.All())
	err = o.eachFinished(done.tasks, rows, func(row *paid, slot int64, ok bool) {
		at++
		if !ok || row.Status == outcomes.StatusSkipped {
			return
		}
		failed, has := row.Status == outcomes.StatusFailed, done.has(slot)
		done.add(slot, row.Status, row.Attempts)
		switch k := len(runs) - 1; {
		case failed:
			done.retry[slot] = row.Attempts
		case has && o.countsRows():
			spent.Add(-1, row.Calls...)
		case has:
		case k >= 0 && runs[k].First+runs[k].Rows == at:
			runs[k].Rows++
		default:
			runs = append(runs, dataset.Range{First: at, Rows: 1})
		}
	})
	return runs, err
}
