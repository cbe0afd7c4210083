package customizer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

func TestTheConnectionDropsAfterTheJobWasStored(t *testing.T) {
	for name, f := range map[string]customizertest.Faults{
		"dropped":            {DropAfterJob: true},
		"no custom fields":   {DropAfterJob: true, NoFields: true},
		"among many":         {DropAfterJob: true, OtherJobs: 25},
		"no count of pages":  {DropAfterJob: true, OtherJobs: 25, NoPages: true},
		"an empty answer":    {EmptyJobAnswer: true},
		"found by its token": {DropAfterJob: true, Statuses: []string{"running"}},
	} {
		tr, s := start(t, f)
		out, err := submit(t, tr)
		if err != nil || out.Job != "cust-1-AbC" || len(s.Jobs()) != 1 || out.State != receipts.JobPending && out.State != receipts.JobRunning {
			t.Errorf("%s: %+v, %v, %d jobs", name, out, err, len(s.Jobs()))
		}
		if again, err := submit(t, tr); err != nil || again.Job != out.Job || len(s.Jobs()) != 1 {
			t.Errorf("%s: %+v, %v, %d jobs", name, again, err, len(s.Jobs()))
		}
	}
}

func TestTheConnectionDropsBeforeTheJobWasStored(t *testing.T) {
	tr, s := start(t, customizertest.Faults{DropBeforeJob: true})
	if out, err := submit(t, tr); err == nil || out.State != receipts.JobFailed || !out.Clean || len(s.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheServiceRefusesAJob(t *testing.T) {
	for _, code := range []int{422, 429, 503} {
		tr, s := start(t, customizertest.Faults{JobStatus: code})
		if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), fmt.Sprint(code, ": no jobs today")) || len(s.Jobs()) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestHowAJobEnds(t *testing.T) {
	for name, c := range map[string]struct {
		faults         customizertest.Faults
		state, message string
	}{
		"failed at 100 %": {customizertest.Faults{Statuses: []string{"running", "failed"}, Failure: "CUDA out of memory"}, receipts.JobFailed,
			"CUDA out of memory"},
		"failed without words": {customizertest.Faults{Statuses: []string{"failed"}}, receipts.JobFailed, "Trainingfailed"},
		"canceled": {customizertest.Faults{Statuses: []string{"cancelling", "canceled"}}, receipts.JobCancelled,
			"a cancelled job leaves no checkpoint"},
		"no progress":          {customizertest.Faults{NullProgress: true}, receipts.JobCompleted, "the model is "},
		"ready":                {customizertest.Faults{Statuses: []string{"unknown", "pondering", "ready"}}, receipts.JobCompleted, "the model is "},
		"500 twice":            {customizertest.Faults{StatusFails: 2}, receipts.JobCompleted, "the model is "},
		"the model comes late": {customizertest.Faults{LateModel: 2}, receipts.JobCompleted, "the model is "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, _ := start(t, c.faults)
			out, err := submit(t, tr)
			if err != nil {
				t.Fatal(err)
			}
			end, said := follow(t, tr, out.Job)
			if end.State != c.state || !strings.HasPrefix(end.Message, c.message) || end.Policy != nil || end.Clean {
				t.Errorf("%+v after %q", end, said)
			}
		})
	}
}

func TestAnUnknownStatusIsNamed(t *testing.T) {
	for _, word := range []string{"pondering", "unknown"} {
		tr, _ := start(t, customizertest.Faults{Statuses: []string{word}})
		out, _ := submit(t, tr)
		if now, err := tr.Status(t.Context(), out.Job); err != nil || now.State != receipts.JobRunning || !now.UnknownState ||
			!strings.Contains(now.Message, word) {
			t.Errorf("%+v, %v", now, err)
		}
	}
}

// A job that gets nowhere says the same each time: that is how a stall is seen.
func TestAJobThatStalls(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Statuses: []string{"pending"}, NoResources: true})
	out, _ := submit(t, tr)
	one, err := tr.Status(t.Context(), out.Job)
	if err != nil || one.State != receipts.JobPending || !strings.Contains(one.Message, "NotEnoughResources") {
		t.Errorf("%+v, %v", one, err)
	}
	two, _ := tr.Status(t.Context(), out.Job)
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("%+v, then %+v", one, two)
	}
}

func TestAJobIsCancelled(t *testing.T) {
	tr, _ := start(t, customizertest.Faults{Statuses: []string{"running"}})
	out, _ := submit(t, tr)
	now, err := tr.Cancel(t.Context(), out.Job)
	if err != nil || now.State != receipts.JobRunning || !strings.HasPrefix(now.Message, "cancelling") {
		t.Errorf("%+v, %v", now, err)
	}
	if end, said := follow(t, tr, out.Job); end.State != receipts.JobCancelled {
		t.Errorf("%+v after %q", end, said)
	}
	tr, _ = start(t, customizertest.Faults{Statuses: []string{"completed"}, CancelTooLate: true})
	out, _ = submit(t, tr)
	if now, err := tr.Cancel(t.Context(), out.Job); err != nil || now.State != receipts.JobCompleted {
		t.Errorf("%+v, %v", now, err)
	}
}
