package main

import (
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// TestFlags checks that every flag follows the house style, and that flags of the
// same name in plug-ins of one kind have one type.
func TestFlags(t *testing.T) {
	schema, global := app().Schema(), map[string]bool{}
	for _, s := range schema[""] {
		global[s.Name] = true
	}
	for section, settings := range schema {
		first := map[string]*plugin.Setting{}
		for _, s := range settings {
			if first[s.Name] == nil {
				first[s.Name] = s
			}
			switch {
			case s.Help == "" || s.Heading == "":
				t.Errorf("%s --%s has no help or heading", section, s.Name)
			case s.Type != plugin.Switch && s.Placeholder() == "VALUE":
				t.Errorf("%s --%s names no placeholder in backquotes", section, s.Name)
			case section != "" && global[s.Name]:
				t.Errorf("%s --%s hides the global flag", section, s.Name)
			case s.Type != first[s.Name].Type || s.Repeats != first[s.Name].Repeats:
				t.Errorf("%s --%s is of two types", section, s.Name)
			}
		}
	}
}
