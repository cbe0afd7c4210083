package starter

import (
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestValuesAreQuoted reads back what init writes of values that mean something else in
// YAML.
func TestValuesAreQuoted(t *testing.T) {
	for _, model := range []string{"m", "*m", "&m", "!m", "@m", "`m", "%m", "[m", "{m", "m:", "a:b", "- m", "-", "?", "|", ">", ">-", "~", "null", "true", "no",
		"1e5", "0x10", "01", "<<", "2026-01-01", "m]", "m,", "é", "\u2028", "\\n", "{{.Agent}}"} {
		for _, engine := range []string{Sandbox, "http://127.0.0.1:8000/v1", "http://[::1]:8000/v1?a={b}&c=*d,e"} {
			for _, trainer := range TrainersOf(engine) {
				c := Choices{Agent: "prompt", Engine: engine, Trainer: trainer, Model: model}
				if c.Validate() != nil { // refused before anything is written
					continue
				}
				made, err := c.files()
				if err != nil {
					t.Fatal(err)
				}
				var got struct {
					Rollout struct{ URL, Model any }
					Submit  struct {
						Base     any `yaml:"base-model"`
						Settings [4]any
					}
				}
				if err := yaml.Unmarshal(made[0].data, &got); err != nil {
					t.Fatalf("%q with %s: %v", model, trainer, err)
				}
				want := got
				if engine != Sandbox {
					want.Rollout.URL = engine
					if trainer == files {
						want.Rollout.Model = model
					} else {
						want.Submit.Base = model
					}
					if trainer == art {
						want.Submit.Settings[2] = "base_model=" + model
					}
				}
				if got != want {
					t.Errorf("%q, %q with %s: %+v", model, engine, trainer, got)
				}
			}
		}
	}
}
