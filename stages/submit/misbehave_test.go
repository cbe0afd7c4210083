package submit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// tuned are the options of a submission to a fine-tuning service.
func tuned(t *testing.T, f openaitest.Faults) (*openaitest.Server, submit.Options) {
	t.Helper()
	_, o := place(t, arttest.Faults{})
	server := openaitest.New(f)
	t.Cleanup(server.Close)
	o.URL = server.URL
	opts := options(t, o)
	tr, err := o.trainer()
	if err != nil {
		t.Fatal(err)
	}
	opts.Trainer, opts.Wait = tr, true
	return server, opts
}

// ticking is a clock on which each look takes a second.
func ticking() func() time.Time {
	c := &clock{now: time.Unix(1_800_000_000, 0)}
	return func() time.Time { c.pass(time.Second); return c.Now() }
}

// TestUnknownStatesDoNotLoopForEver: a job in a state that nobody knows counts
// as running, by its name, until the stall is reported; the next command
// attaches to the same job.
func TestUnknownStatesDoNotLoopForEver(t *testing.T) {
	server, o := tuned(t, openaitest.Faults{JobStatuses: []string{"pondering"}})
	o.Now, o.Stall, o.LeaseTTL = ticking(), time.Minute, time.Hour
	for range 2 {
		if e := kind(t, o, fault.Temporary); !strings.Contains(e.Error(), "shows nothing new for") ||
			!strings.Contains(e.Error(), `"pondering", which is no known state`) || !strings.Contains(fault.HintOf(e), "job cancel") {
			t.Errorf("%v; %s", e, fault.HintOf(e))
		}
	}
	if n := len(server.Jobs()); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// TestFailedAtTheEnd: a job that had all its steps and failed is a failure, and
// the receipt keeps what is known of it.
func TestFailedAtTheEnd(t *testing.T) {
	_, o := tuned(t, openaitest.Faults{JobStatuses: []string{"running", "failed"}, JobError: `{"code":"exceeded_quota","message":"at 100 %"}`})
	if e := kind(t, o, fault.Failed); !strings.Contains(e.Error(), "at 100 %") {
		t.Error(e)
	}
	r, err := submit.ReadReceipt(t.Context(), o.Receipt)
	if err != nil || r.State != receipts.JobFailed || r.Job == "" || len(r.MetricSteps) == 0 || r.FinishedAt == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTheConnectionDropsAfterTheJobIsStored: it is found again by its token.
func TestTheConnectionDropsAfterTheJobIsStored(t *testing.T) {
	server, o := tuned(t, openaitest.Faults{DropAfterJob: true})
	completes(t, o)
	if n := len(server.Jobs()); n != 1 {
		t.Errorf("%d jobs", n)
	}
	art, place := place(t, arttest.Faults{CloseBefore: true})
	if r := completes(t, options(t, place)); *r.Receipt.StepAfter != 1 || art.Jobs() != 1 {
		t.Errorf("%+v", r.Receipt)
	}
}

// TestStreamWithoutLastChunk: the step tells that it was trained.
func TestStreamWithoutLastChunk(t *testing.T) {
	_, place := place(t, arttest.Faults{CloseSaved: true})
	if r := completes(t, options(t, place)).Receipt; len(r.MetricSteps) != 3 || !strings.Contains(r.Message, "from 0 to 1") {
		t.Errorf("%+v", r)
	}
}

// TestNaNInALine: the receipt is JSON all the same, and says so.
func TestNaNInALine(t *testing.T) {
	_, place := place(t, arttest.Faults{NaN: true})
	r := completes(t, options(t, place)).Receipt
	if !strings.Contains(r.Message, "loss was NaN in 1 of 3") || !json.Valid(r.MetricSteps[1]) {
		t.Errorf("%+v", r)
	}
}

// TestARandomInferencePort: the receipt has the address that the server gave
// last, for the next rollout.
func TestARandomInferencePort(t *testing.T) {
	_, place := place(t, arttest.Faults{NewPort: true})
	first, err := submit.Prepare(t.Context(), options(t, place))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, place)
	o.Policy = &receipts.Policy{URL: "http://127.0.0.1:1/v1", Model: first.Receipt.Policy.Model} // gone
	if r := completes(t, o).Receipt; r.Policy.URL == first.Receipt.Policy.URL || r.Policy.URL == o.Policy.URL || r.Policy.Version != 1 {
		t.Errorf("%+v after %+v", r.Policy, first.Receipt.Policy)
	}
}
