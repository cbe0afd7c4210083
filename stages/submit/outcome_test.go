package submit_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
)

func TestATrainingThatFails(t *testing.T) {
	two := 2
	server, place := place(t, arttest.Faults{CloseAfter: &two})
	o := options(t, place)
	for i := range 2 {
		e := kind(t, o, stages.KindFailed)
		if !strings.Contains(e.Error(), "no new checkpoint") || !strings.Contains(e.Hint(), "--resubmit") {
			t.Errorf("%v; %s", e, e.Hint())
		}
		r, err := submit.ReadReceipt(t.Context(), o.Receipt)
		if err != nil || r.State != formats.JobFailed || r.Policy.Version != 0 || len(r.MetricSteps) != 2 {
			t.Errorf("run %d: %+v, %v", i, r, err)
		}
	}
	if len(server.Batches()) != 1 {
		t.Errorf("%d batches", len(server.Batches()))
	}
	server.Set(arttest.Faults{})
	o.Resubmit = true
	if r := completes(t, o); r.Attached || server.Jobs() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestNothingTrainableIsAFailureThatSaysSo(t *testing.T) {
	_, place := place(t, arttest.Faults{Untrainable: true})
	if e := kind(t, options(t, place), stages.KindFailed); !strings.Contains(e.Error(), "nothing to train on") || !strings.Contains(e.Hint(), "flat groups") {
		t.Errorf("%v; %s", e, e.Hint())
	}
}

// TestWhatIsCertainlyUntrainedIsSentAgain: no flag is needed after a refusal,
// or after a training that an atomic server undid.
func TestWhatIsCertainlyUntrainedIsSentAgain(t *testing.T) {
	one := 1
	for name, c := range map[string]struct {
		faults arttest.Faults
		kind   stages.Kind
	}{
		"refused":       {arttest.Faults{TrainStatus: 422}, stages.KindFailed},
		"atomic, broke": {arttest.Faults{Atomic: true, CloseAfter: &one}, stages.KindFailed},
	} {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, c.faults)
			o := options(t, place)
			kind(t, o, c.kind)
			server.Set(arttest.Faults{Atomic: c.faults.Atomic})
			if r := completes(t, o); r.Attached || server.Jobs() != 1 {
				t.Errorf("%+v, %d jobs", r, server.Jobs())
			}
		})
	}
}

func TestUnreachableTrainerIsTemporary(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	server.Close()
	if e := kind(t, options(t, place), stages.KindTemporary); !strings.Contains(e.Error(), "failed to connect to ART backend") || !strings.Contains(e.Hint(), "healthcheck") {
		t.Errorf("%v; %s", e, e.Hint())
	}
}
