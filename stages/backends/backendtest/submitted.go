package backendtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

func begin(t *testing.T, s Subject) {
	first, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Trainer.Begin(t.Context(), first.Policy)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	noJobs(t, s)
}

func submit(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := int64(0)
	out, err := s.Trainer.Submit(t.Context(), submission("batch", before), Batch(), func(e backends.JobEvent) {
		sent = max(sent, e.Sent)
	})
	if err == nil {
		out, err = followed(t, s, out)
	}
	if err != nil || out.State != receipts.JobCompleted || sent != 3 || s.Jobs() != 1 {
		t.Fatalf("%+v, %v; %d groups sent, %d jobs", out, err, sent, s.Jobs())
	}
	if before.Step != nil && (out.StepAfter == nil || *out.StepAfter != *before.Step+1 || out.Policy == nil ||
		out.Policy.Version != *out.StepAfter) {
		t.Errorf("from %+v to %+v", before, out)
	}
	resolved, err := s.Trainer.Resolve(t.Context(), submission("batch", before))
	if err != nil || resolved.State != receipts.JobCompleted {
		t.Errorf("%+v, %v", resolved, err)
	}
}

// followed polls a job that outlives the connection until it has ended.
func followed(t *testing.T, s Subject, out backends.Outcome) (backends.Outcome, error) {
	status, job := s.Trainer.Describe().Status, out.Job
	for n := 0; status != nil && n < 1000 && (out.State == receipts.JobRunning || out.State == receipts.JobPending); n++ {
		var err error
		if out, err = status(t.Context(), job); err != nil {
			return out, err
		}
	}
	return out, nil
}

func neverSent(t *testing.T, s Subject) {
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Trainer.Resolve(t.Context(), submission("other", before))
	if err != nil || out.State != backends.JobUnknown && !(out.State == receipts.JobFailed && out.Clean) {
		t.Errorf("%+v, %v", out, err)
	}
}
