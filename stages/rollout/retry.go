package rollout

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
)

// retryOf is the parameter of a dataset in which failures were attempted
// again: the identity of the first one, and the rows that it was made from.
const retryOf = "retry_of"

// before finds the sealed dataset that this command wrote earlier and makes
// spec the one it has now. With RetryFailed and failures in it, spec becomes
// that of its successor, and the dataset is returned to take the rest from.
// The successor replaces it when it is sealed; until then it stays readable.
func (o Options) before(ctx context.Context, spec *dataset.Spec) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, o.Out.URI, dataset.OpenOptions{Kind: spec.Kind, AcceptGates: []string{gateName}})
	if err != nil {
		return nil, ctx.Err() // there is none; anything else dataset.Begin finds and names
	}
	first := spec.Identity()
	retried, _ := d.Params[retryOf].(map[string]any)
	if d.Identity != first && retried["first"] != first {
		return nil, nil
	}
	if !o.RetryFailed || d.Counts[formats.StatusFailed]+d.Counts[formats.StatusSkipped] == 0 {
		if retried != nil {
			spec.Params[retryOf] = retried
		}
		return nil, nil
	}
	spec.Params[retryOf] = map[string]any{"first": first, "rows": d.RowsDigest.String()}
	return d, nil
}

// carry journals what did not fail in the dataset before, and notes in done
// how often the rest was attempted.
func (o Options) carry(ctx context.Context, d *dataset.Dataset, journal *dataset.Journal[formats.Trajectory], done map[string]finished) error {
	from, to := o.block()
	g := int64(o.Generations)
	r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", dataset.Range{First: int64(from) * g, Rows: int64(to-from) * g})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		rows := make([]formats.Trajectory, 64)
		n, err := r.Read(rows)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var good []formats.Trajectory
		for _, t := range rows[:n] {
			if _, has := done[t.TrajectoryID]; has {
				continue
			}
			if t.Status == formats.StatusSkipped {
				continue
			}
			done[t.TrajectoryID] = finished{TrajectoryID: t.TrajectoryID, Status: t.Status, Attempts: t.Attempts}
			if t.Status != formats.StatusFailed {
				good = append(good, t)
			}
		}
		if err := journal.Append(ctx, good); err != nil {
			return err
		}
		if n == 0 || errors.Is(err, io.EOF) {
			return nil
		}
	}
}
