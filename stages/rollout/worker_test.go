package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/rollout"
)

// A worker that failed before it was asked says why in the first answer.
func TestWorkerThatFailsBeforeItIsAskedSaysWhy(t *testing.T) {
	w, err := rollout.StartWorker(rollout.Program{Words: []string{"sh", "missing.sh"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for !w.Ended() {
		time.Sleep(time.Millisecond)
	}
	var log strings.Builder
	_, err = w.Ask(t.Context(), "id", []byte("{}\n"), &log)
	if err == nil || !strings.Contains(err.Error(), "missing.sh") || !strings.Contains(log.String(), "missing.sh") {
		t.Errorf("error %v, log %q", err, &log)
	}
}
