package score

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

// TestColumnsAreThoseOfATrajectory: a name that is no column would not be read.
func TestColumnsAreThoseOfATrajectory(t *testing.T) {
	for _, name := range slices.Concat(lightColumns, textColumns, storedColumns, carriedColumns) {
		of := reflect.TypeFor[formats.Trajectory]()
		for part := range strings.SplitSeq(name, ".") {
			at := slices.IndexFunc(schema.FieldsOf(of), func(f schema.Field) bool { return f.Name == part })
			if at < 0 {
				t.Errorf("a trajectory has no column %s", name)
				break
			}
			if of = schema.FieldsOf(of)[at].Type; of.Kind() == reflect.Slice {
				of = of.Elem()
			}
		}
	}
}
