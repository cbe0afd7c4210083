package submit_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/backends/art/arttest"
)

// TestRefusedAfterTraining: a proxy refuses the batch that the server trained,
// and the step shows it to the first run.
func TestRefusedAfterTraining(t *testing.T) {
	for _, code := range []int{400, 404, 408, 409, 413, 422, 425, 429, 499, 500, 503} {
		server, place := place(t, arttest.Faults{StatusAfter: code})
		o := options(t, place)
		if r := completes(t, o); r.Attached {
			t.Errorf("%d: %+v", code, r)
		}
		if r := completes(t, o); !r.Attached || server.Jobs() != 1 {
			t.Errorf("%d: trained %d times", code, server.Jobs())
		}
	}
}
