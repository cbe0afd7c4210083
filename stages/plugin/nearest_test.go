package plugin_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

func TestNearest(t *testing.T) {
	known := []string{"generations", "group", "curriculum-initial", "concurrency"}
	for word, want := range map[string]string{
		"generatons": `did you mean "generations"?`, "grup": `did you mean "group"?`,
		"curriculum_initial": `did you mean "curriculum-initial"?`, "zebra": "no idea",
	} {
		if got := plugin.Nearest(word, known, "no idea"); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
