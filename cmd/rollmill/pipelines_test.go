package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/plugin"
)

// commandLine matches a command and its arguments on one line of a script: after
// rollmill, stage.sh's run, or make's $(call run,...) and $(call shards,...).
var commandLine = regexp.MustCompile(`(?:rollmill |"\$ROLLMILL" |\brun |\(call (?:run|shards),)(` + strings.Join(commandNames(), "|") + `)\b\)?([^\n#]*)`)

var flagName = regexp.MustCompile(`(?:^|[\s"'\[(])--([a-z][a-z-]*)`)

// TestPipelinesUseExistingFlags checks the scripts of pipelines, which name flags
// only as text.
func TestPipelinesUseExistingFlags(t *testing.T) {
	known := map[string][]string{}
	for _, c := range app().Commands {
		settings := app().Schema()[""]
		if c.Settings != nil {
			settings = append(settings, plugin.Declared(c.Settings())...)
		}
		for _, s := range settings {
			known[c.Name] = append(known[c.Name], s.Name)
		}
	}
	uses := 0
	for _, name := range pipelineFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range commandLine.FindAllStringSubmatch(string(text), -1) {
			for _, flag := range flagName.FindAllStringSubmatch(use[2], -1) {
				uses++
				if !slices.Contains(known[use[1]], flag[1]) {
					t.Errorf("%s: %s has no flag --%s: %s", name, use[1], flag[1], use[0])
				}
			}
		}
	}
	if uses < 15 {
		t.Errorf("only %d flags were found: the patterns no longer fit the scripts", uses)
	}
}

func commandNames() (names []string) {
	for _, c := range app().Commands {
		names = append(names, c.Name)
	}
	return names
}

func pipelineFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.sh", "*/*.sh", "*/*.mk", "*/*.py", "*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../pipelines", pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}
