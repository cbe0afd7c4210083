package backendtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// Refusals are codes that a service, or a proxy before it, may answer with
// although it carried out the request.
var Refusals = []int{400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 425, 429, 499, 500, 502, 503, 504}

// RefusedAfter tests that a batch which was trained counts as trained, as running or as unknown
// whatever code is answered afterwards, and never as one that may be sent again. fresh makes a
// subject whose service does its work and then answers with code.
func RefusedAfter(t *testing.T, fresh func(t *testing.T, code int) Subject) {
	for _, code := range Refusals {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := fresh(t, code)
			before, err := s.Trainer.Begin(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Trainer.Submit(t.Context(), submission("batch", before), Batch(), ignore)
			if out.Clean || out.State == receipts.JobFailed || s.Jobs() != 1 {
				t.Errorf("%+v, %v; %d jobs", out, err, s.Jobs())
			}
			if again, err := s.Trainer.Resolve(t.Context(), submission("batch", before)); again.Clean {
				t.Errorf("resolved: %+v, %v", again, err)
			}
		})
	}
}

// fenced tests that the record is read again right before the request that
// cannot be undone, when everything before it is done.
func fenced(t *testing.T, s Subject) {
	lost := errors.New("another process took it over")
	asked := 0
	sub := submission("batch", backends.TrainerState{})
	sub.Owned = func() error { asked++; return lost }
	fails(t, s, t.Context(), sub, Batch(), lost)
	if asked == 0 {
		t.Error("the record was not read again")
	}
}

// FoundAfterRefusal is RefusedAfter for a service whose jobs are found in its
// list: a proxy may refuse what the service did. The list holds no other job,
// or so many that it has several pages.
func FoundAfterRefusal(t *testing.T, fresh func(t *testing.T, others, code int) Subject) {
	for name, others := range map[string]int{"alone": 0, "among others": 120} {
		t.Run(name, func(t *testing.T) {
			RefusedAfter(t, func(t *testing.T, code int) Subject { return fresh(t, others, code) })
		})
	}
}
