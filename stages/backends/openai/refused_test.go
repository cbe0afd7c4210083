package openai_test

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

func TestARefusalAfterTheJobWasMadeFindsIt(t *testing.T) {
	backendtest.FoundAfterRefusal(t, func(t *testing.T, others, code int) backendtest.Subject {
		tr, s := start(t, openaitest.Faults{OtherJobs: others, StatusAfterJob: code})
		return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Jobs()) }}
	})
}

// TestAnotherSendersJobIsFoundBeforeOneIsMade: it was made while our files
// were uploaded.
func TestAnotherSendersJobIsFoundBeforeOneIsMade(t *testing.T) {
	tr, s := start(t, openaitest.Faults{ForgetsKeys: true})
	raced := func(yield func([]formats.Trajectory, error) bool) {
		if len(s.Jobs()) == 0 {
			if _, err := submit(t, tr); err != nil {
				t.Error(err)
			}
		}
		backendtest.Batch()(yield)
	}
	out, err := tr.Submit(t.Context(), submission(), raced, func(backends.JobEvent) {})
	if err != nil || out.Job != "ftjob-1" || len(s.Jobs()) != 1 {
		t.Errorf("%+v, %v, %d jobs", out, err, len(s.Jobs()))
	}
}

// TestTheIdempotencyKeyJoinsTwoRequests: another sender makes the job between
// our look and our request.
func TestTheIdempotencyKeyJoinsTwoRequests(t *testing.T) {
	tr, s := start(t, openaitest.Faults{})
	sub := submission()
	sub.Owned = func() error {
		if len(s.Jobs()) == 0 {
			if _, err := submit(t, tr); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	out, err := tr.Submit(t.Context(), sub, backendtest.Batch(), func(backends.JobEvent) {})
	if err != nil || out.Job != "ftjob-1" || len(s.Jobs()) != 1 {
		t.Errorf("%+v, %v, %d jobs", out, err, len(s.Jobs()))
	}
}
