package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
)

// update rewrites the generated pages, and what the scripts expect.
var update = foreigntest.Update

// TestDocs compares the pages under doc/, and the types of the Python module, with the flags.
func TestDocs(t *testing.T) {
	pages := app().Pages()
	pages["columns.md"] = "<!-- Generated from package formats: `make docs` rewrites it. -->\n\n" + columnsPage()
	pages["guides/tested.md"] = testedPage(t)
	pages["../../python/src/rollmill/_run.pyi"] = pythonStub(app())
	if *update {
		writePages(t, pages)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("doc", name))
		if err != nil {
			t.Errorf("%v (make docs writes it)", err)
		} else if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("doc/%s differs from the flags (make docs rewrites it):\n%s", name, diff)
		}
	}
	files, _ := filepath.Glob("doc/*.md")
	for _, f := range files {
		if _, ok := pages[filepath.Base(f)]; !ok && f != "doc/guides" { // which are written by hand
			t.Errorf("%s belongs to no command", f)
		}
	}
}

func writePages(t *testing.T, pages map[string]string) {
	if err := os.MkdirAll("doc", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join("doc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
