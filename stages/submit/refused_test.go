package submit_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
)

// Test4xxAfterTrainingNeedsPerson: exit 6 and never 75, and the next run
// sends nothing.
func Test4xxAfterTrainingNeedsPerson(t *testing.T) {
	for _, code := range []int{408, 409, 413, 425, 429, 499, 500} {
		server, place := place(t, arttest.Faults{StatusAfter: code})
		o := options(t, place)
		kind(t, o, stages.KindPerson)
		completes(t, o) // by the step
		if server.Jobs() != 1 {
			t.Errorf("%d: trained %d times", code, server.Jobs())
		}
	}
}
