package submit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestATrainingThatFails: nobody can tell it from a proxy that cut the answer
// off, so the step is looked at until the limit, and then a person decides.
func TestATrainingThatFails(t *testing.T) {
	two := 2
	server, place := place(t, arttest.Faults{CloseAfter: &two})
	o := options(t, place)
	for range 2 {
		e := kind(t, o, fault.Person)
		if !strings.Contains(e.Error(), "as it was before") || !strings.HasPrefix(fault.HintOf(e), "run the same command again") ||
			!strings.Contains(fault.HintOf(e), "--resubmit") {
			t.Errorf("%v; %s", e, fault.HintOf(e))
		}
	}
	if len(server.Batches()) != 1 {
		t.Errorf("%d batches", len(server.Batches()))
	}
	server.Set(arttest.Faults{})
	o.Resubmit, o.Stall = true, 0 // with a flag nothing is waited for
	if r := completes(t, o); r.Attached || server.Jobs() != 1 {
		t.Errorf("%+v", r)
	}
}

// TestTheAnswerEndsAndTheServerTrainsOn: the first run sees the step advance,
// whatever ended the answer, and a run after a killed one does, too.
func TestTheAnswerEndsAndTheServerTrainsOn(t *testing.T) {
	zero, two := 0, 2
	for name, f := range map[string]arttest.Faults{
		"cut off at once":             {CloseAfter: &zero},
		"cut off after two lines":     {CloseAfter: &two},
		"cut off after all lines":     {CloseUnsaved: true},
		"ended cleanly after a line":  {LinesMissing: 2},
		"ended cleanly without a one": {LinesMissing: 3},
		"no answer":                   {CloseBefore: true},
		"429":                         {StatusAfter: 429, Proxy: true},
		"502":                         {StatusAfter: 502, Proxy: true},
		"503":                         {StatusAfter: 503, Proxy: true},
		"404 of a proxy":              {StatusAfter: 404, Proxy: true},
	} {
		t.Run(name, func(t *testing.T) {
			f.TrainsOn = 5
			server, place := place(t, f)
			o := options(t, place)
			o.Stall = time.Hour
			r := completes(t, o)
			if *r.Receipt.StepAfter != 1 || r.Attached || len(server.Batches()) != 1 {
				t.Errorf("%+v, %d batches", r.Receipt, len(server.Batches()))
			}
			if f.CloseAfter == &two && len(r.Receipt.MetricSteps) != 2 {
				t.Errorf("metrics: %s", r.Receipt.MetricSteps)
			}
		})
	}
}

// TestTheServerIsAwayAfterTheBatch: another run can settle it, so nobody is
// asked.
func TestTheServerIsAwayAfterTheBatch(t *testing.T) {
	for name, f := range map[string]arttest.Faults{"429": {StatusAfter: 429, AwayAfter: true}, "cut off": {CloseSaved: true, AwayAfter: true}} {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, f)
			o := options(t, place)
			for range 2 {
				if e := kind(t, o, fault.Temporary); !strings.HasPrefix(fault.HintOf(e), "run the same command again") {
					t.Errorf("%v; %s", e, fault.HintOf(e))
				}
			}
			server.Set(arttest.Faults{})
			if r := completes(t, o); *r.Receipt.StepAfter != 1 || len(server.Batches()) != 1 {
				t.Errorf("%+v, %d batches", r.Receipt, len(server.Batches()))
			}
		})
	}
}

// TestAResubmittedBatchIsNotSettledByItsFlag: the flag is about the attempt
// before. When its own end is not seen, the attempt stays open.
func TestAResubmittedBatchIsNotSettledByItsFlag(t *testing.T) {
	server, place := place(t, arttest.Faults{CloseUnsaved: true})
	o := options(t, place)
	kind(t, o, fault.Person)
	o.Resubmit = true
	kind(t, o, fault.Person)
	o.Resubmit = false
	server.Set(arttest.Faults{})
	kind(t, o, fault.Person)
	if n := len(server.Batches()); n != 2 {
		t.Errorf("%d batches", n)
	}
}

func TestNothingTrainableIsAFailureThatSaysSo(t *testing.T) {
	_, place := place(t, arttest.Faults{Untrainable: true})
	if e := kind(t, options(t, place), fault.Failed); !strings.Contains(e.Error(), "nothing to train on") || !strings.Contains(fault.HintOf(e), "flat groups") {
		t.Errorf("%v; %s", e, fault.HintOf(e))
	}
}

// TestWhatIsCertainlyUntrainedIsSentAgain: no flag is needed after a refusal,
// or after a training that an atomic server undid.
func TestWhatIsCertainlyUntrainedIsSentAgain(t *testing.T) {
	one := 1
	for name, c := range map[string]struct {
		faults arttest.Faults
		kind   fault.Kind
	}{
		"refused":       {arttest.Faults{TrainStatus: 422}, fault.Failed},
		"atomic, broke": {arttest.Faults{Atomic: true, CloseAfter: &one}, fault.Failed},
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
	if e := kind(t, options(t, place), fault.Temporary); !strings.Contains(e.Error(), "failed to connect to ART backend") ||
		!strings.Contains(fault.HintOf(e), "healthcheck") {
		t.Errorf("%v; %s", e, fault.HintOf(e))
	}
}
