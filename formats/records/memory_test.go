package records

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/fault"
)

// A column map is held in memory, so its size is limited.
func TestALongColumnMapIsRefused(t *testing.T) {
	maxColumnMap = 1 << 20
	defer func() { maxColumnMap = 512 << 20 }()
	text := `{"question":{"0":"` + strings.Repeat("x", 2<<20) + `"}}`
	if err := all("x.json", strings.NewReader(text), int64(len(text))); err == nil || !strings.Contains(err.Error(), "one object is longer than 512 MiB") {
		t.Errorf("got %v", err)
	}
}

// TestALongLineHasItsOwnHint: it is not what a changed file gets.
func TestALongLineHasItsOwnHint(t *testing.T) {
	err := File{Name: "x.jsonl"}.lineError(3, errLongLine)
	in, ok := err.(*fault.Error)
	if !ok || !strings.Contains(fault.HintOf(in), "one object a line") || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %v", err)
	}
}
