package dataset

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
)

// The row that is read from plain files has every column of a trajectory.
func TestPlainRowHasAllColumns(t *testing.T) {
	of := func(t reflect.Type) map[string]bool {
		out := map[string]bool{}
		leavesOf(out, "", t, false)
		return out
	}
	if diff := cmp.Diff(of(reflect.TypeFor[formats.Trajectory]()), of(reflect.TypeFor[plainRow]())); diff != "" {
		t.Error(diff)
	}
}
