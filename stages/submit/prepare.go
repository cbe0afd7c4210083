package submit

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rollmill/rollmill/formats/receipts"
)

// Prepare makes the trainer ready without sending a batch, and writes a receipt
// with the policy that answers before the first batch, for --policy of the
// first epoch's rollout. An existing receipt stays as it is; the trainer is
// then left alone, because preparing may restart its engine.
func Prepare(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	if o.Trainer == nil {
		return Result{}, o.Validate()
	}
	switch receipt, err := ReadReceipt(ctx, o.Receipt); {
	case err == nil:
		return prepared(o, receipt, true), nil
	case !errors.Is(err, fs.ErrNotExist):
		return Result{}, err
	}
	started := o.Clock()
	state, err := o.Trainer.Begin(ctx, o.Policy)
	if err != nil {
		return Result{}, kinded(err)
	}
	finished := o.Clock()
	receipt := &receipts.Receipt{
		Format: receipts.Format, Backend: o.Trainer.Target().Backend, State: receipts.JobPrepared, Run: o.Run,
		Epoch:      o.Epoch,
		StepBefore: state.Step, StepAfter: state.Step, Policy: state.Policy, StartedAt: started, FinishedAt: &finished,
	}
	return prepared(o, receipt, false), WriteReceipt(ctx, o.Receipt, receipt)
}

func prepared(o Options, receipt *receipts.Receipt, upToDate bool) Result {
	r := Result{Receipt: receipt}
	r.Stage, r.URI, r.UpToDate, r.Sealed = "submit", o.Out, upToDate, true
	r.Message = "the backend is ready"
	return r
}
