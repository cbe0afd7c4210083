package backendtest

import (
	"context"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

// Kind tests the registry's entry of a backend: its settings are declared as all
// settings must be, and the required ones, by name, suffice to make its trainer.
func Kind(t *testing.T, k backends.Kind, required map[string]string) {
	t.Run("settings are declared well", func(t *testing.T) {
		plugintest.Settings(t, func() plugin.Settings { return k.New() })
	})
	t.Run("the required settings make a trainer", func(t *testing.T) {
		settings, set := k.New(), 0
		for _, s := range plugin.Declared(settings) {
			text, ok := required[s.Name]
			if !ok {
				continue
			}
			if set++; s.Set(text) != nil {
				t.Errorf("%s cannot be %q", s.Name, text)
			}
		}
		if set < len(required) {
			t.Errorf("%d settings of %v exist", set, required)
		}
		tr, err := settings.Trainer(backends.Setup{Place: backends.Place{
			URI:   "mem://out",
			Begin: func(context.Context) (backends.Draft, error) { return nil, nil },
			Read:  func(context.Context, string) ([]byte, error) { return nil, nil },
		}})
		if err != nil || tr.Target().Backend != k.Name || k.Help == "" {
			t.Errorf("%s: %v", k.Name, err)
		}
	})
}
