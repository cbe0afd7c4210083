package submit

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage/fault"
)

// kinded gives an error of a trainer the kind that it has for rollmill.
func kinded(err error) error {
	var ours *fault.Error
	if err == nil || errors.As(err, &ours) || errors.Is(err, fault.ErrInvalid) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	kind := fault.KindOf(err)
	if kind != fault.Usage && kind != fault.Temporary {
		kind = fault.Failed
	}
	return fault.Errorf(kind, fault.HintOf(err), "submit: %w", err)
}

func verdict(r *receipts.Receipt) error {
	failed := func(hint, what string) error {
		return fault.Errorf(fault.Failed, hint, "submit: %s: %s", what, r.Message)
	}
	const again = "the batch counts as submitted; to send it again: --resubmit"
	switch r.State {
	case receipts.JobFailed:
		return failed(again, "the trainer failed on the batch")
	case receipts.JobCancelled:
		return failed(again, "the job was cancelled")
	case receipts.JobUntrained:
		return failed("check for flat groups (curate drops them) and for missing logprobs; "+again,
			"the trainer found nothing to train on")
	}
	return nil
}
