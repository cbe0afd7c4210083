package group

import (
	"strings"
	"testing"
)

// TestGroupsOfOneAreReported, and others are not.
func TestGroupsOfOneAreReported(t *testing.T) {
	for _, c := range []struct {
		facts map[string]float64
		says  bool
	}{
		{map[string]float64{factGroups: 4, factScored: 4}, true},
		{map[string]float64{factGroups: 4, factScored: 4, factCompared: 4, factFlat: 4}, true}, // a singleton's advantage is 0
		{map[string]float64{factGroups: 4, factScored: 4, factCompared: 4}, false},             // its own reward
		{map[string]float64{factGroups: 4, factScored: 32, factCompared: 4, factFlat: 4}, false},
	} {
		if text := message(c.facts); strings.Contains(text, "--generations 8 is usual, 2 is the least") != c.says {
			t.Errorf("%v: %s", c.facts, text)
		}
	}
}
