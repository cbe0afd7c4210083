package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestOperatingGuideHasTheExitCodes compares its table with the one that is
// generated from the program's.
func TestOperatingGuideHasTheExitCodes(t *testing.T) {
	_, rows, ok := strings.Cut(app().Pages()["rollmill.md"], "## Exit codes\n\n| code | |\n|---|---|\n")
	if !ok {
		t.Fatal("the program's page has no exit codes")
	}
	guide := operatingGuide(t)
	for row := range strings.Lines(rows) {
		if row = strings.TrimSpace(row); row != "" && !strings.Contains(guide, "\n"+row+" ") {
			t.Errorf("the guide lacks %s", row)
		}
	}
	codes := regexp.MustCompile(`(?m)^\| \d+ \|`)
	if got, want := len(codes.FindAllString(guide, -1)), len(codes.FindAllString(rows, -1)); got != want || want == 0 {
		t.Errorf("the guide has %d codes, the program %d", got, want)
	}
}

// TestOperatingGuideQuotesMessages looks for each message of the table of
// troubleshooting in the strings of the program.
func TestOperatingGuideQuotesMessages(t *testing.T) {
	_, table, _ := strings.Cut(operatingGuide(t), "| message |")
	messages := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1)
	if len(messages) < 15 {
		t.Fatalf("found %d messages", len(messages))
	}
	all := strings.Join(programStrings(t), "\n")
	for _, m := range messages {
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.Trim(part, " :()"); part != "" && !strings.Contains(all, part) {
				t.Errorf("no message of the program has %q, of %q", part, m[1])
			}
		}
	}
}

func operatingGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("doc/guides/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// programStrings returns the string literals of the program's code.
func programStrings(t *testing.T) (out []string) {
	t.Helper()
	for _, dir := range []string{"cmd", "stages", "formats", "pipelines", "storage"} {
		err := filepath.WalkDir("../../"+dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						out = append(out, s)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
