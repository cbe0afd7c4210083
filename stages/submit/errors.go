package submit

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// kinded gives a trainer's error its kind. Trainers report it by optional
// methods: Temporary, Misused, Hint.
func kinded(err error) error {
	var (
		ours      *stages.Error
		temporary interface{ Temporary() bool }
		misused   interface{ Misused() bool }
	)
	switch {
	case err == nil, errors.As(err, &ours), errors.Is(err, formats.ErrInvalid), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &misused) && misused.Misused():
		return stages.Errorf(stages.KindUsage, formats.HintOf(err), "submit: %w", err)
	case errors.As(err, &temporary) && temporary.Temporary():
		return stages.Errorf(stages.KindTemporary, formats.HintOf(err), "submit: %w", err)
	}
	return stages.Errorf(stages.KindFailed, formats.HintOf(err), "submit: %w", err)
}

// verdict returns the error of a receipt.
func verdict(r *formats.Receipt) error {
	failed := func(hint, what string) error {
		return stages.Errorf(stages.KindFailed, hint, "submit: %s: %s", what, r.Message)
	}
	const again = "the batch counts as submitted; to send it again: --resubmit"
	switch r.State {
	case formats.JobFailed:
		return failed(again, "the trainer failed on the batch")
	case formats.JobCancelled:
		return failed(again, "the job was cancelled")
	case formats.JobUntrained:
		return failed("check for flat groups (curate drops them) and for missing logprobs; "+again,
			"the trainer found nothing to train on")
	}
	return nil
}
