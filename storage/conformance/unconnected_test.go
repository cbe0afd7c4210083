package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestUnconnected checks that a program without clients of object stores is told which package has them: this one has none.
func TestUnconnected(t *testing.T) {
	_, err := storage.Open(t.Context(), "s3://bucket/run")
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(f.Help, "storage/stores") {
		t.Errorf("opening s3 without storage/stores: %v", err)
	}
}
