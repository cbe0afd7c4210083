package live

import (
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// TestAnAttemptThatIsMadeAgainCountsOnce: its cost counts each time.
func TestAnAttemptThatIsMadeAgainCountsOnce(t *testing.T) {
	j := &Journal{journalled: journalled{at: map[string]int{}}}
	failed := &Attempt{TrajectoryID: "a", Status: outcomes.StatusFailed, FailureClass: outcomes.FailTimeout, StopReason: "error", PromptTokens: 5}
	j.Add(failed)
	j.Add(&Attempt{TrajectoryID: "a", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, PromptTokens: 5})
	j.Add(failed)
	if s := j.Segments; s.Rows != 1 || s.Failed != 0 || s.Prompt != 15 || s.Classes[outcomes.FailTimeout] != 0 || s.Stops[outcomes.StopDone] != 1 ||
		len(j.Attempts) != 1 {
		t.Errorf("%+v", s)
	}
}
