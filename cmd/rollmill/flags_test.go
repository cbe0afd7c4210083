package main

import (
	"testing"
)

// TestFlags holds every flag to the house style, and keeps one meaning for
// one name.
func TestFlags(t *testing.T) {
	usages := map[string]string{}
	for section, flags := range schema() {
		seen := map[string]bool{}
		for _, f := range flags {
			d := describe(f)
			if seen[d.name] {
				t.Errorf("%s: two flags --%s", section, d.name)
			}
			seen[d.name] = true
			if d.usage == "" || d.category == "" {
				t.Errorf("%s --%s has no usage or category", section, d.name)
			}
			if d.takesValue && d.placeholder == "VALUE" {
				t.Errorf("%s --%s names no placeholder in backticks", section, d.name)
			}
			if section != "" && flagNamed(globalFlags(), d.name) != nil {
				t.Errorf("%s --%s hides the global flag", section, d.name)
			}
			usages[d.name] = d.usage
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"generations", "group", "curriculum-initial", "concurrency"}
	for word, want := range map[string]string{
		"generatons": `did you mean "generations"?`, "grup": `did you mean "group"?`,
		"curriculum_initial": `did you mean "curriculum-initial"?`, "zebra": "no idea",
	} {
		if got := nearest(word, known, "no idea"); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
