package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// small makes every file too large for one piece.
func small(c *openai.Config) { c.MaxFileBytes, c.PartBytes = 1, 100 }

func TestConformanceInParts(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		tr, server := start(t, openaitest.Faults{}, small)
		return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(server.Jobs()) }, Secrets: []string{openaitest.Key}, Sent: func() []string {
			return []string{server.File("training"), server.File("validation")}
		}}
	})
}

// TestALargeFileGoesInParts: the service has the same file as in one piece,
// although the answers to two parts are lost on the way.
func TestALargeFileGoesInParts(t *testing.T) {
	one, whole := start(t, openaitest.Faults{})
	if _, err := submit(t, one); err != nil {
		t.Fatal(err)
	}
	tr, server := start(t, openaitest.Faults{PartsLost: 2}, small)
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	name := "training"
	if got, want := server.File(name), whole.File(name); got == "" || got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if status, parts := server.Uploads(); status != "completed" || parts < 4 {
		t.Errorf("%s after %d parts", status, parts)
	}
	if len(server.Jobs()) != 1 {
		t.Errorf("%d jobs", len(server.Jobs()))
	}
}

func TestAnUploadThatFailsIsCancelled(t *testing.T) {
	for _, code := range []int{400, 503} {
		tr, server := start(t, openaitest.Faults{PartsRefused: code}, small)
		out, err := submit(t, tr)
		if err == nil || !out.Clean || !strings.Contains(err.Error(), "no parts today") {
			t.Errorf("%+v, %v", out, err)
		}
		if status, _ := server.Uploads(); status != "cancelled" || len(server.Jobs()) != 0 {
			t.Errorf("%s, %d jobs", status, len(server.Jobs()))
		}
	}
	damage := errors.New("page 3 is damaged")
	tr, server := start(t, openaitest.Faults{}, small)
	n := 0
	out, err := tr.Submit(t.Context(), submission(), func(yield func([]formats.Trajectory, error) bool) {
		if n++; n == 1 { // counted well, and damaged when it is read again
			backendtest.Batch()(yield)
		} else if yield(backendtest.Group(0), nil) {
			yield(nil, damage)
		}
	}, func(backends.JobEvent) {})
	if status, _ := server.Uploads(); !errors.Is(err, damage) || !out.Clean || status != "cancelled" {
		t.Errorf("%+v, %v, %s", out, err, status)
	}
}
