package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollmill/rollmill/stages/plugin"
)

const (
	maxHelpLines = 61
	maxHelpWidth = 120
)

// TestHelpFitsOneScreen checks the size of --help of the program, of each command
// and of each plug-in that a flag chooses; that it names every flag of the command
// itself, and that `rollmill help COMMAND` describes each.
func TestHelpFitsOneScreen(t *testing.T) {
	check := func(words ...string) string {
		t.Helper()
		code, text, stderr := rollmill(t, append(words, "--help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > maxHelpLines {
			t.Errorf("%q --help has %d lines, more than %d", words, len(lines), maxHelpLines)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > maxHelpWidth {
				t.Errorf("%q --help has a line of more than %d characters: %s", words, maxHelpWidth, line)
			}
		}
		return text
	}
	check()
	for _, cmd := range app().Commands {
		for _, c := range append(cmd.Parts, cmd) {
			brief := check(strings.Fields(c.Name)...)
			if text, _, _ := strings.Cut(brief, "\n\n  rollmill "); strings.HasSuffix(text, ":") {
				t.Errorf("%s --help announces what only the whole help has: %s", c.Name, text)
			}
			_, full, _ := rollmill(t, append([]string{"help"}, strings.Fields(c.Name)...)...)
			if c.Settings == nil {
				continue
			}
			for _, s := range plugin.Declared(c.Settings()) {
				if s.Owner == nil && (!strings.Contains(full, s.Phrase()[:8]) || !strings.Contains(full, "  --"+s.Name) ||
					!strings.Contains(brief, "--"+s.Name)) {
					t.Errorf("help on %s lacks --%s", c.Name, s.Name)
				}
			}
		}
	}
	for command, flag := range map[string]string{"rollout": "agent", "submit": "backend"} {
		for _, settings := range app().Schema()[command] {
			if settings.Name == flag {
				for _, name := range settings.Choices {
					check(command, "--"+flag, name)
				}
			}
		}
	}
}

// heading matches a heading of a page, and pageLink a link to one.
var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	pageLink = regexp.MustCompile(`\]\(([^):#]*)#([^)]+)\)`)
)

// TestLinksLeadToHeadings checks that links into a page name one of its headings.
func TestLinksLeadToHeadings(t *testing.T) {
	pages, err := filepath.Glob("doc/*.md")
	guides, _ := filepath.Glob("doc/guides/*.md") // the pattern is that of before
	if err != nil || len(pages) == 0 || len(pages) > 60 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	removed := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, page := range append(pages, guides...) {
		for _, m := range pageLink.FindAllStringSubmatch(read(t, page), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			found := false
			for _, h := range heading.FindAllStringSubmatch(read(t, target), -1) {
				found = found || strings.ReplaceAll(removed.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			}
			if !found {
				t.Errorf("%s: %s has no heading for #%s", page, target, m[2])
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
