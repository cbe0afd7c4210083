package main

import (
	"slices"
	"strings"
	"testing"
)

// strangers has a test, or several, for the beginning of each line of SECURITY.md about
// tasks of strangers.
var strangers = map[string]string{
	"No variable of a task":                "TestVariables TestVariablesCommand TestBwrapVariables",
	"A task reads no variable":             "TestTaskEnv TestBwrapTaskEnv",
	"Podman itself passes":                 "TestVariables",
	"A task's names":                       "TestStrings TestFolders",
	"With podman and docker, only":         "TestNetworkOption",
	"Without a network, an agent":          "TestNetwork",
	"With `--runtime bwrap`":               "TestBwrapSees TestBwrap",
	"What an agent left running":           "TestForged TestBwrapForged TestPods",
	"Where the task or `--keep-processes`": "TestServers TestBwrapServers",
	"An agent that may change":             "TestTampered TestBwrapTampered TestCounted",
	"Reading what an attempt left":         "TestKept TestKeptEnds",
	"A workspace (`--keep-workspace`)":     "TestRestoreRefuses TestLimits TestRestore TestBwrapRestore TestSearchFindsWhatRedactReplaces",
}

// TestSecurityOfTasks: each line has its tests, and each test its line.
func TestSecurityOfTasks(t *testing.T) {
	_, text, _ := strings.Cut(fileText(t, ".github/SECURITY.md"), "**Harbor tasks.**")
	text, _, _ = strings.Cut(text, "**Secrets.**")
	said := strings.Split(text, "\n- ")[1:]
	if len(said) != len(strangers) {
		t.Errorf("%d lines, and tests for %d", len(said), len(strangers))
	}
	for _, line := range said {
		found := false
		for begins, tests := range strangers {
			if !strings.HasPrefix(line, begins) {
				continue
			}
			found = true
			for _, test := range strings.Fields(tests) {
				if !slices.ContainsFunc([]string{"stages/rollout/agents/harbor", "stages/internal/containers", "stages/internal/containers/verifier",
					"formats/foreign/harbor", "formats/workspace", "formats/secret"},
					func(where string) bool { return checkRuns(t, where+" "+test) == "" }) {
					t.Errorf("there is no test %s for: %s", test, line)
				}
			}
		}
		if !found {
			t.Errorf("no test for: %s", line)
		}
	}
}
