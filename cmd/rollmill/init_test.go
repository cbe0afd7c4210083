package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/starter"
)

// TestInitConfigs checks that the config of every choice has only known keys with
// valid values: submit reads the whole file, and then fails for want of its input.
func TestInitConfigs(t *testing.T) {
	seen := 0
	for _, agent := range starter.Agents {
		for _, engine := range []string{starter.Sandbox, "http://127.0.0.1:8000/v1", "tinker://127.0.0.1:8100", "tinker://"} {
			for _, trainer := range starter.TrainersOf(engine) {
				seen++
				folder := filepath.Join(t.TempDir(), "new")
				words := []string{"init", folder, "--agent", agent, "--engine", engine, "--trainer", trainer}
				if agent == "harbor" || agent == "verifiers" { // tasks of others
					words = append(words, "--from", "tasks")
				}
				code, _, stderr := rollmill(t, words...)
				if len(words) > 8 && engine == starter.Sandbox {
					if code != 2 || !strings.Contains(stderr, "--engine URL") {
						t.Errorf("%s, %s: exit code %d: %s", agent, engine, code, stderr)
					}
					continue
				}
				if code != 0 {
					t.Fatalf("%s, %s, %s: exit code %d: %s", agent, engine, trainer, code, stderr)
				}
				config := filepath.Join(folder, "rollmill.yaml")
				for _, stage := range []string{"score", "submit"} {
					code, _, stderr := rollmill(t, stage, "--config", config, "--in", filepath.Join(folder, "nothing"), "--out", filepath.Join(folder, stage))
					if code != 4 {
						t.Errorf("%s, %s, %s: %s: exit code %d, want 4: %s", agent, engine, trainer, stage, code, stderr)
					}
				}
				makefile, err := os.ReadFile(filepath.Join(folder, "Makefile"))
				targets := len(strings.Fields(strings.Split(string(makefile)+".PHONY:", ".PHONY:")[1]))
				if err != nil || strings.Count(string(makefile), "\n") != targets+2 || strings.Contains(string(makefile), "<no value>") {
					t.Errorf("%s, %s, %s: %v: a Makefile\n%s", agent, engine, trainer, err, makefile)
				}
			}
		}
	}
	if seen != len(starter.Agents)*6 {
		t.Errorf("%d choices", seen)
	}
}
