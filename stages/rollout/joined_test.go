package rollout

import (
	"errors"
	"fmt"
	"testing"
)

// TestWhatStoppedTheRunIsSaidOnce: a full disk ends the run by a keeper, which then returns the same error.
func TestWhatStoppedTheRunIsSaidOnce(t *testing.T) {
	full, other := errors.New("no space"), errors.New("other")
	for want, err := range map[string]error{"rollout: no space": joined(fmt.Errorf("rollout: %w", full), full), "no space": joined(nil, full),
		"other": joined(other, nil), "other\nno space": joined(other, full)} {
		if err.Error() != want {
			t.Errorf("%q, not %q", err, want)
		}
	}
	if err := joined(nil, nil); err != nil {
		t.Error(err)
	}
}
