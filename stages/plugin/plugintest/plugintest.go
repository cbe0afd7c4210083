// Package plugintest is what all settings must hold.
package plugintest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Settings tests the settings that fresh makes, at their defaults.
func Settings(t *testing.T, fresh func() plugin.Settings) {
	t.Helper()
	first, second := fresh(), fresh()
	before := fmt.Sprintf("%+v", first)
	list := plugin.Declared(first)
	if fmt.Sprintf("%+v", first) != before {
		t.Errorf("%T: Declare changes the settings", first)
	}
	tags := map[string]string{}
	for _, s := range list {
		if s.Owner != nil {
			continue
		}
		check(t, first, s)
		if s.Tag != "" && tags[s.Tag] != "" {
			t.Errorf("%T: %s and %s have one identity tag, %q", first, s.Name, tags[s.Tag], s.Tag)
		}
		tags[s.Tag] = s.Name
	}
	for name, v := range plugin.Identity(first, second) {
		if always(list, name) {
			continue
		}
		t.Errorf("%T: at its default the identity holds %s = %v", first, name, v)
	}
}

func check(t *testing.T, of plugin.Settings, s *plugin.Setting) {
	t.Helper()
	switch {
	case !name.MatchString(s.Name):
		t.Errorf("%T: the name %q is not of lower-case letters, digits and hyphens", of, s.Name)
	case s.Help == "" || s.Help != strings.TrimSpace(s.Help):
		t.Errorf("%T: %s has no help", of, s.Name)
	case s.Type != plugin.Switch && s.Placeholder() == "VALUE":
		t.Errorf("%T: the help of %s names no placeholder in backquotes", of, s.Name)
	}
	if s.Type == plugin.Integer || s.Type == plugin.Number || s.Type == plugin.Duration {
		before := s.Value()
		if err := s.Set("no number"); err == nil {
			t.Errorf("%T: %s takes any text", of, s.Name)
		}
		if !reflect.DeepEqual(before, s.Value()) {
			t.Errorf("%T: a text that %s refuses changes it", of, s.Name)
		}
	}
}

func always(list []*plugin.Setting, tag string) bool {
	return slices.ContainsFunc(list, func(s *plugin.Setting) bool {
		outer, _, _ := strings.Cut(s.Tag, ".")
		return outer == tag && s.Always
	})
}
