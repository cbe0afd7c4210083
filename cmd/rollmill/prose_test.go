package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxColumns is the widest line of product code, with tabs of 4 columns, and
// wideShare the largest share of lines over wideColumns.
const (
	maxColumns  = 160
	wideColumns = 120
	wideShare   = 0.01
)

// TestLinesAreShort holds the width of product code.
func TestLinesAreShort(t *testing.T) {
	lines, wide := 0, 0
	eachSource(t, func(path string, text []string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for i, line := range text {
			n := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
			lines++
			if n > wideColumns {
				wide++
			}
			if n > maxColumns {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
	})
	if float64(wide) > wideShare*float64(lines) {
		t.Errorf("%d of %d lines have more than %d columns", wide, lines, wideColumns)
	}
}

// TestCommentsHaveNoTails finds a line of a comment that ends as the line before
// does with the end of a sentence: what is
// left over when a sentence was rewritten.
func TestCommentsHaveNoTails(t *testing.T) {
	const tail = 12
	eachSource(t, func(path string, text []string) {
		before := ""
		for i, line := range text {
			comment, ok := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !ok || len(comment) <= tail+4 {
				before = ""
				continue
			}
			end := comment[len(comment)-tail:]
			if strings.HasSuffix(end, ".") && strings.Contains(end, " ") && strings.HasSuffix(before, end) {
				t.Errorf("%s:%d ends as the line before: %q", path, i+1, end)
			}
			before = comment
		}
	})
}

// eachSource calls visit with the lines of each Go file of the module.
func eachSource(t *testing.T, visit func(path string, lines []string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (name == "testdata" || name == "runs" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		visit(path, strings.Split(string(data), "\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestThePictureHasEveryPackage checks that the picture of the house, in CONTRIBUTING, names each package
// or the folder of the second level that holds it, and has at most forty lines.
func TestThePictureHasEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "```\n cmd/")
	picture, _, _ = strings.Cut(picture, "```")
	if n := strings.Count(picture, "\n"); n > 40 {
		t.Errorf("the picture has %d lines", n)
	}
	words := strings.FieldsFunc(picture, func(r rune) bool { return !unicode.IsLetter(r) })
	for name := range listPackages(t) {
		if parts := strings.Split(name, "/"); len(parts) > 1 && !strings.HasSuffix(name, "test") && !slices.Contains(words, parts[1]) {
			t.Errorf("the picture does not name %s", name)
		}
	}
}
