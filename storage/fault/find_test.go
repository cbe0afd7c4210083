package fault

import (
	"errors"
	"fmt"
	"testing"
)

type hinted struct {
	hint  string
	cause error
}

func (h hinted) Error() string         { return "hinted" }
func (h hinted) Fault() (Kind, string) { return Failed, h.hint }
func (h hinted) Unwrap() error         { return h.cause }

// TestHintOf: an empty hint does not hide the one of its cause.
func TestHintOf(t *testing.T) {
	inner := hinted{"do this", nil}
	for _, err := range []error{inner, hinted{"", inner}, fmt.Errorf("x: %w", hinted{"", inner}), errors.Join(errors.New("y"), hinted{"", inner})} {
		if got := HintOf(err); got != "do this" {
			t.Errorf("%#v: %q", err, got)
		}
	}
	if got := HintOf(errors.New("x")); got != "" {
		t.Error(got)
	}
}
