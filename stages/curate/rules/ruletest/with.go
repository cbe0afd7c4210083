package ruletest

import (
	"fmt"
	"reflect"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// With returns the rules of a registry with some of their settings, as names
// and values in turn: With(all.Rules, "keep-flat", true, "filter",
// []string{…}). A pointer is its value, and a nil pointer sets nothing. It
// panics if there is no such setting, or if the setting refuses the value.
func With(r curate.Registry, given ...any) curate.Rules {
	rules := plugin.Every(r)
	Give(rules, given...)
	return rules
}

// Give is With for existing rules.
func Give(rules curate.Rules, given ...any) {
	settings := map[string]*plugin.Setting{}
	for _, s := range plugin.Declared(rules) {
		settings[s.Name] = s
	}
	for i := 0; i+1 < len(given); i += 2 {
		s := settings[given[i].(string)]
		if s == nil {
			panic(fmt.Sprintf("ruletest: no rule has a setting %q", given[i]))
		}
		if texts := texts(given[i+1]); texts != nil {
			if err := s.Set(texts...); err != nil {
				panic(fmt.Sprintf("ruletest: %s: %v", s.Name, err))
			}
		}
	}
}

func texts(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	p := reflect.ValueOf(v)
	if p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return nil
		}
		v = p.Elem().Interface()
	}
	return []string{fmt.Sprint(v)}
}
