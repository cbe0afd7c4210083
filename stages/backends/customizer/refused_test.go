package customizer_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

// TestARefusalAfterTheJobWasMadeFindsIt: a proxy may refuse what the service
// did.
func TestARefusalAfterTheJobWasMadeFindsIt(t *testing.T) {
	for name, f := range map[string]customizertest.Faults{"plain": {}, "among others": {OtherJobs: 120}} {
		t.Run(name, func(t *testing.T) {
			backendtest.RefusedAfter(t, func(t *testing.T, code int) backendtest.Subject {
				f.StatusAfterJob = code
				tr, s := start(t, f)
				return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Jobs()) }}
			})
		})
	}
}
