package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// TestSettingsAreRestored: what a manifest has of each setting that decides rows gives the
// setting the same value, so that prove can make the dataset again.
func TestSettingsAreRestored(t *testing.T) {
	for name, fresh := range map[string]func() plugin.Settings{
		"score":  func() plugin.Settings { return &newScoreSettings().Options },
		"group":  func() plugin.Settings { return &newGroupSettings().Options },
		"curate": func() plugin.Settings { return &newCurateSettings().Options },
	} {
		from, params := fresh(), map[string]any{}
		for _, x := range plugin.Declared(from) {
			if x.Tag == "" {
				continue
			}
			for _, text := range append(x.Choices, "7", "0.25", "true", "normal(0.5,0.2)", "a=1", "len(answer) > 1", "a") {
				if x.Set(text) == nil && !x.IsDefault() {
					break
				}
			}
			if x.IsDefault() {
				t.Errorf("%s: no text for --%s", name, x.Name)
			}
			plugin.Put(params, x.Tag, x.Value())
		}
		data, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		d, stored := json.NewDecoder(bytes.NewReader(data)), map[string]any{}
		d.UseNumber() // as a manifest's
		if err := d.Decode(&stored); err != nil {
			t.Fatal(err)
		}
		to := fresh()
		if err := plugin.Restore(to, stored); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		restored := plugin.Declared(to)
		for i, x := range plugin.Declared(from) {
			if x.Name == "plan-pass-rate" { // a plan that is drawn is of a task file, which a manifest does not hold
				continue
			}
			if x.Tag != "" && !reflect.DeepEqual(x.Value(), restored[i].Value()) {
				t.Errorf("%s: --%s is %v, restored %v", name, x.Name, x.Value(), restored[i].Value())
			}
		}
	}
}
