package customizer_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

func TestARefusalAfterTheJobWasMadeFindsIt(t *testing.T) {
	backendtest.FoundAfterRefusal(t, func(t *testing.T, others, code int) backendtest.Subject {
		tr, s := start(t, customizertest.Faults{OtherJobs: others, StatusAfterJob: code})
		return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Jobs()) }}
	})
}
