package submit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// served are the options of a submission to a service.
func served(t *testing.T, fresh func(t *testing.T) (order, func() int)) (submit.Options, func() int) {
	t.Helper()
	o, jobs := fresh(t)
	opts := options(t, o)
	tr, err := o.trainer()
	if err != nil {
		t.Fatal(err)
	}
	opts.Trainer, opts.Wait = tr, true
	return opts, jobs
}

// TestStalledCustomizerJob: one that waits for machines that are not
// there, one that is being cancelled for ever, and one in a state that nobody
// knows are reported as stalled, and attached to again.
func TestStalledCustomizerJob(t *testing.T) {
	for want, f := range map[string]customizertest.Faults{
		"NotEnoughResources": {Statuses: []string{"pending"}, NoResources: true},
		"cancelling":         {Statuses: []string{"cancelling"}, NullProgress: true},
		`"pondering"`:        {Statuses: []string{"pondering"}, NullProgress: true},
	} {
		o, jobs := served(t, customizing(f))
		o.Now, o.Stall, o.LeaseTTL = ticking(), time.Minute, time.Hour
		for range 2 {
			if e := kind(t, o, fault.Temporary); !strings.Contains(e.Error(), "shows nothing new for") || !strings.Contains(e.Error(), want) {
				t.Errorf("%s: %v", want, e)
			}
		}
		if jobs() != 1 {
			t.Errorf("%s: %d jobs", want, jobs())
		}
	}
}

// TestACustomizerJobThatFailsAtTheEnd: at 100 %, with the service's reason; it
// is not sent again by itself.
func TestACustomizerJobThatFailsAtTheEnd(t *testing.T) {
	o, jobs := served(t, customizing(customizertest.Faults{Statuses: []string{"running", "failed"}, Failure: "CUDA out of memory"}))
	for range 2 {
		if e := kind(t, o, fault.Failed); !strings.Contains(e.Error(), "CUDA out of memory") {
			t.Error(e)
		}
	}
	r, err := submit.ReadReceipt(t.Context(), o.Receipt)
	if err != nil || r.State != receipts.JobFailed || r.Metrics["percentage_done"] != 100 || r.Metrics["train_loss"] != 0.42 || jobs() != 1 {
		t.Errorf("%+v, %v, %d jobs", r, err, jobs())
	}
}

// TestACommitThatIsLostIsFound: the store commits and does not answer.
func TestACommitThatIsLostIsFound(t *testing.T) {
	for _, f := range []hubtest.Faults{{DropAfterCommit: 1}, {AppliedThen500: 1}, {Intruders: 1}} {
		o, jobs := served(t, customizing(customizertest.Faults{Store: f}))
		r, err := submit.Run(t.Context(), o)
		if err != nil || r.Receipt.State != receipts.JobCompleted || jobs() != 1 {
			t.Errorf("%+v: %+v, %v, %d jobs", f, r.Receipt, err, jobs())
		}
	}
}
