package main

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
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

// TestBounds: the program and the schema of the config refuse a number below each setting's bound, and
// take the bound itself.
func TestBounds(t *testing.T) {
	valid, bounds := configSchema(t), 0
	for section, settings := range app().Schema() {
		for _, s := range settings {
			if s.Least == nil {
				continue
			}
			bounds++
			least, below := fmt.Sprint(*s.Least), fmt.Sprint(*s.Least-1)
			if s.Type == plugin.Duration {
				below = "-1ns"
			}
			before := s.Value()
			err := s.Set(below)
			if err == nil || fault.HintOf(err) == "" || !reflect.DeepEqual(s.Value(), before) {
				t.Errorf("%s.%s: %s: %v, value %v", section, s.Name, below, err, s.Value())
			}
			if err := s.Set(least); err != nil {
				t.Errorf("%s.%s: %s: %v", section, s.Name, least, err)
			}
			config := fmt.Sprintf("%s:\n  %s: ", section, s.Name)
			if err := valid(config + below); err == nil {
				t.Errorf("the schema takes %s%s", config, below)
			}
			for _, right := range []string{least, `"` + least + `"`, "${N:-8}", "null"} {
				if err := valid(config + right); err != nil {
					t.Errorf("the schema refuses %s%s: %v", config, right, err)
				}
			}
		}
	}
	if bounds < 50 {
		t.Errorf("%d settings have a bound", bounds)
	}
	for _, config := range []string{"rollout:\n  generations: 0", "prune:\n  keep-epochs: 0"} {
		if valid(config) == nil {
			t.Errorf("the schema takes %s", config)
		}
	}
}
