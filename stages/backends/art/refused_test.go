package art_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// TestA4xxAfterTrainingIsUnknown: the batch was sent whole, so a refusal may
// be a proxy's, or come late. It is never clean, which would send it again.
func TestA4xxAfterTrainingIsUnknown(t *testing.T) {
	for name, f := range map[string]arttest.Faults{
		"plain":                          {},
		"by a proxy":                     {Proxy: true},
		"atomic":                         {Atomic: true},
		"the server goes away afterward": {AwayAfter: true},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.RefusedAfter(t, func(t *testing.T, code int) backendtest.Subject {
				f.StatusAfter = code
				server, cfg := start(t, arttest.Legacy, f)
				return backendtest.Subject{Trainer: trainer(t, cfg), Jobs: server.Jobs}
			})
		})
	}
}

// TestARefusalThatTheServerDoesNotGiveIsUnknown: the step stands still, but a
// proxy may have given up while the server trains.
func TestARefusalThatTheServerDoesNotGiveIsUnknown(t *testing.T) {
	for _, code := range []int{408, 409, 413, 425, 429, 499, 500, 502, 503, 504} {
		_, cfg := start(t, arttest.Legacy, arttest.Faults{TrainStatus: code})
		out, err := submit(t, trainer(t, cfg))
		if out.State != backends.JobUnknown || err != nil || !strings.Contains(out.Message, fmt.Sprint(code)) ||
			!strings.Contains(out.Message, "may be training still") {
			t.Errorf("%d: %+v, %v", code, out, err)
		}
	}
}
