package decision

import (
	"strings"
	"testing"
)

// TestFunnelShowsWhatRefused checks that the table has the steps that refused
// something, and that there is no table without one.
func TestFunnelShowsWhatRefused(t *testing.T) {
	facts := map[string]float64{OfTrajectories("flat"): 4, OfGroups("flat"): 1, OfTrajectories("length"): 1, OfTrajectories("leak"): 0}
	steps := Funnel([]string{"leak", "flat", "length"}, 3, 12, facts)
	var text strings.Builder
	if err := WriteFunnel(&text, steps); err != nil {
		t.Fatal(err)
	}
	const want = "    rule  trajectories refused  left  groups ended  left\n" +
		"    flat                     4     8             1     2\n" +
		"  length                     1     7             0     2\n"
	if text.String() != want || len(steps) != 5 {
		t.Errorf("%d steps:\n%s", len(steps), text.String())
	}
	text.Reset()
	if err := WriteFunnel(&text, Funnel([]string{"leak"}, 3, 12, nil)); err != nil || text.Len() > 0 {
		t.Errorf("%q, %v", text.String(), err)
	}
}
