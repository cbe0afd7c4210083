package validate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// The memory of a check does not grow with the data.
func TestChecksUseBoundedMemory(t *testing.T) {
	var c Count
	for i := range 10_000 {
		c.Add(&Row{Number: int64(i)}, fmt.Sprint("sort ", i), "%s", strings.Repeat("long ", 1000))
	}
	if len(c.sorts) > maxSorts+1 || len(c.First) != MaxPlaces || len([]rune(c.First[0].Detail)) > maxDetail+1 {
		t.Errorf("%d sorts, %d places", len(c.sorts), len(c.First))
	}
	s := newStale().(*stale)
	for _, v := range rand.New(rand.NewPCG(1, 2)).Perm(10_000) {
		version := int64(v)
		s.Row(&Row{Status: outcomes.StatusOK, Trajectory: &formats.Trajectory{PolicyVersion: &version}})
	}
	if len(s.versions) > maxVersions+1 {
		t.Errorf("%d versions", len(s.versions))
	}
	if f := s.found(nil); len(f) != 1 || f[0].Count != 9995 || f[0].Of != 10_000 || len(f[0].First) != MaxPlaces {
		t.Errorf("%+v", f)
	}
}
