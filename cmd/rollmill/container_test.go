package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContainerfile checks what can be checked without a builder: that each file that
// is copied exists or is made, that each stage that is named was begun before, that
// the program that starts is the one that was copied, and that the Go version is that
// of go.mod.
func TestContainerfile(t *testing.T) {
	const root = "../.."
	data, err := os.ReadFile(filepath.Join(root, ".github/Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{"/source/bin/rollmill": true, "/empty": true, "/etc/ssl/certs/ca-certificates.crt": true}
	stages, copied, seen := map[string]bool{}, map[string]bool{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		seen[words[0]]++
		switch words[0] {
		case "FROM":
			if len(words) == 4 && words[2] == "AS" {
				stages[words[3]] = true
			}
			if version, ok := strings.CutPrefix(words[1], "golang:"); ok && !strings.Contains(string(module), "\ngo "+version) {
				t.Errorf("the image has Go %s", version)
			}
		case "COPY":
			from := ""
			words = words[1:]
			for strings.HasPrefix(words[0], "--") {
				if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
					from = stage
				}
				words = words[1:]
			}
			if from != "" && !stages[from] {
				t.Errorf("no stage %q: %s", from, line)
			}
			for _, source := range words[:len(words)-1] {
				inside, _ := strings.CutPrefix(source, "/source/")
				if _, err := os.Stat(filepath.Join(root, inside)); !made[source] && err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(line), err)
				}
			}
			copied[words[len(words)-1]] = true
		case "ENTRYPOINT":
			if program := strings.Trim(words[1], `[]"`); !copied[program] {
				t.Errorf("%s is not in the image", program)
			}
		case "RUN", "WORKDIR", "USER":
		default:
			t.Errorf("an instruction that this test does not know: %s", line)
		}
	}
	if seen["FROM"] != 2 || seen["ENTRYPOINT"] != 1 || seen["USER"] != 1 {
		t.Errorf("the instructions are %v", seen)
	}
}
