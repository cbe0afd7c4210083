package terminal

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestAMessageHasNoPartTwice checks how a failure is told: no part of a message is there
// twice, nor is the command's own name.
func TestAMessageHasNoPartTwice(t *testing.T) {
	var log buffer
	s := testStreams(&log, false)
	s.Fail("rollout", 1, errors.New(`rollout: rollout: reward "x": reward "x": no`))
	s.Fail("try", 1, errors.New(`try: rollout: rollout: no`))
	if want := "rollmill rollout: reward \"x\": no\nrollmill try: rollout: no\n"; log.String() != want {
		t.Errorf("%q, want %q", log.String(), want)
	}
}

func TestHint(t *testing.T) {
	deep := fmt.Errorf("a: %w", errors.Join(errors.New("b"), fault.Invalid("x", "look there", nil, "c")))
	if got := hint(deep); got != "look there" {
		t.Errorf("hint of %q: %q", deep, got)
	}
	if got := hint(fmt.Errorf("reading: %w", storage.ErrDenied)); got == "" {
		t.Error("permission denied has no hint")
	}
	if got := hint(fault.Invalid("x", "", nil, "cut short")); got == "" {
		t.Error("damaged input has no hint")
	}
}
