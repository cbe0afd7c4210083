package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// Columns of a kind that no row type has are refused by name when whole rows
// are read; readers of other columns ignore them.
func TestUnknownColumnsThatCannotBeCarriedAreNamed(t *testing.T) {
	type row struct {
		formats.Planned
		Table map[string]string `parquet:"table"`
	}
	data := written(t, []row{{Table: map[string]string{"a": "b"}}})
	f, err := Open(bytes.NewReader(data), int64(len(data)), "file")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader[formats.Planned](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Unknown(); err == nil || !strings.Contains(err.Error(), "column table") {
		t.Error(err)
	}
}
