package main

import (
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// TestFlags checks that every flag follows the house style, and that flags of the
// same name in plug-ins of one kind have one type.
func TestFlags(t *testing.T) {
	for section, options := range schema() {
		for _, o := range options {
			for _, s := range declared([]*option{o}) {
				switch {
				case s.Help == "" || s.Heading == "":
					t.Errorf("%s --%s has no help or heading", section, s.Name)
				case s.Type != plugin.Switch && s.Placeholder() == "VALUE":
					t.Errorf("%s --%s names no placeholder in backquotes", section, s.Name)
				case section != "" && optionNamed(globalOptions(), s.Name) != nil:
					t.Errorf("%s --%s hides the global flag", section, s.Name)
				case s.Type != o.Type || s.Repeats != o.Repeats:
					t.Errorf("%s --%s is of two types", section, s.Name)
				}
			}
		}
	}
}

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
