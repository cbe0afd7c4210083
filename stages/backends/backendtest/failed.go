package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// fails submits a batch that must not have an effect.
func fails(t *testing.T, s Subject, ctx context.Context, sub backends.Submission, groups backends.Groups, want error) {
	t.Helper()
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sub.Before = before
	out, err := s.Trainer.Submit(ctx, sub, groups, ignore)
	if !errors.Is(err, want) || out.State != receipts.JobFailed || !out.Clean {
		t.Errorf("%+v, %v; want %v", out, err, want)
	}
	noJobs(t, s)
}

func unreadable(t *testing.T, s Subject) {
	damage := fault.Invalid("dataset", "", nil, "page 3 is damaged")
	groups := func(yield func([]formats.Trajectory, error) bool) {
		if yield(Group(0), nil) {
			yield(nil, damage)
		}
	}
	fails(t, s, t.Context(), submission("batch", backends.TrainerState{}), groups, damage)
}

func guarded(t *testing.T, s Subject) {
	lost := errors.New("the lease ran out")
	sub := submission("batch", backends.TrainerState{})
	asked := 0
	sub.Guard = func() error {
		if asked++; asked > 1 {
			return lost
		}
		return nil
	}
	fails(t, s, t.Context(), sub, Batch(), lost)
}

func cancelled(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	groups := func(yield func([]formats.Trajectory, error) bool) {
		cancel()
		yield(nil, context.Cause(ctx))
	}
	if out, err := s.Trainer.Submit(ctx, submission("batch", before), groups, ignore); err == nil {
		t.Errorf("%+v without an error", out)
	}
	noJobs(t, s)
}
