package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var guideLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestGuidePages checks what help and the README show of the guides, and where
// their links lead.
func TestGuidePages(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := rollmill(t, "help", "guides")
	if !regexp.MustCompile(`^.*\n  quick-start .*\n  concepts .*\n`).MatchString(list) {
		t.Errorf("the guides to begin with are not the first:\n%s", list)
	}
	works := map[string]bool{} // commands of help, each run once
	files, err := filepath.Glob("doc/guides/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, text := strings.TrimSuffix(filepath.Base(file), ".md"), string(data)
		guideAlone(t, name, text, works)
		if !strings.HasPrefix(text, "# ") || !regexp.MustCompile(`(?m)^  `+name+` +\S.*\.$`).MatchString(list) {
			t.Errorf("guide %s needs a title in its first line and a first sentence:\n%s", name, list)
		}
		if !strings.Contains(string(readme), "(cmd/rollmill/doc/guides/"+name+".md)") {
			t.Errorf("the README does not link guide %s", name)
		}
		for _, m := range guideLink.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("doc/guides", m[1])); err != nil {
				t.Errorf("guide %s: %v", name, err)
			}
		}
		page, _ := os.ReadFile("doc/" + name + ".md")
		if strings.Contains(string(page), "\n# rollmill "+name+"\n") || name == "guides" {
			t.Errorf("guide %s has the name of a command, which help shows", name)
		}
	}
}

// guideAlone checks that help shows the whole guide, to a reader who has nothing
// but the program: each link is a command of help that works, or an address.
func guideAlone(t *testing.T, name, text string, works map[string]bool) {
	t.Helper()
	code, out, stderr := rollmill(t, "help", name)
	if code != 0 || strings.Contains(out, "<!--") || regexp.MustCompile(`\]\([^h#]`).MatchString(out) {
		t.Errorf("help %s: exit code %d, %s%s", name, code, out, stderr)
	}
	for _, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "](") && !strings.HasPrefix(line, "<!--") && !strings.Contains(out+"\n", line+"\n") {
			t.Errorf("help %s lacks %q", name, line)
		}
	}
	for _, m := range regexp.MustCompile("`rollmill (help [a-z+_ -]+)`").FindAllStringSubmatch(out, -1) {
		if works[m[1]] {
			continue
		}
		if code, _, stderr := rollmill(t, strings.Fields(m[1])...); code != 0 {
			t.Errorf("guide %s: rollmill %s: %s", name, m[1], stderr)
		} else {
			works[m[1]] = true
		}
	}
}
