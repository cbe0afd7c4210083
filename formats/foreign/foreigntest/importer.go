package foreigntest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Update is the flag with which tests write the files that they expect.
var Update = flag.Bool("update", false, "write the files that tests expect")

// Importer imports each file and compares its rows, and what is lost of it, with
// testdata/<base name>.golden; then it damages the file in many ways.
func Importer(t *testing.T, f importers.Format, o importers.Options, files ...string) {
	t.Helper()
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			golden(t, f, o, path, data)
			damaged(t, f, o, path, data)
		})
	}
}

// Rows returns every item of a file as text for people, and its errors.
func Rows(f importers.Format, o importers.Options, path string, data []byte) string {
	var b []byte
	for p, err := range All(f, importerFile(f, path, data, &o)) {
		switch {
		case err != nil:
			return string(b) + "file: " + strings.ReplaceAll(err.Error(), path, filepath.Base(path)) + "\n"
		case p.Err != nil:
			b = fmt.Appendf(b, "%s: %v\n", p.At(), p.Err)
		}
		for _, l := range p.Losses {
			b = fmt.Appendf(b, "%s: lost: %v\n", p.At(), l)
		}
		for i := range p.Items {
			b, _ = jsontext.AppendLine(b, brief(&p.Items[i]))
		}
	}
	return string(b)
}

// importerFile returns a file with the companions that are beside it.
func importerFile(f importers.Format, path string, data []byte, o *importers.Options) importers.File {
	out := importers.File{Name: path, R: bytes.NewReader(data), Size: int64(len(data)), Options: o}
	if f.Companions == "" {
		return out
	}
	folder := filepath.Dir(path)
	_ = fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error { // sorted
		if file := filepath.Join(folder, name); err == nil && !e.IsDir() && f.IsCompanion(name) && file != filepath.Clean(path) {
			out.Companions = append(out.Companions, importers.Companion{Name: name, Read: func() ([]byte, error) { return os.ReadFile(file) },
				Head: func(limit int64) ([]byte, int64, error) {
					data, err := os.ReadFile(file)
					return data[:min(len(data), int(limit))], int64(len(data)), err
				}})
		}
		return nil
	})
	return out
}

func golden(t *testing.T, f importers.Format, o importers.Options, path string, data []byte) {
	got := Rows(f, o, path, data)
	if again := Rows(f, o, path, data); again != got {
		t.Errorf("a second time it gives other rows:\n%s", cmp.Diff(got, again))
	}
	name := filepath.Join("testdata", filepath.Base(path)+".golden")
	if *Update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run with -update and read the diff:\n%s", diff)
	}
}

// damaged cuts the file and changes bytes of it: whatever the result, it is rows
// or an error.
func damaged(t *testing.T, f importers.Format, o importers.Options, path string, data []byte) {
	for i := range 40 {
		cut := len(data) * i / 40
		Check(t, f, o, path, data[:cut])
		if len(data) > 0 {
			changed := bytes.Clone(data)
			changed[cut] ^= byte(1 << (i % 8))
			Check(t, f, o, path, changed)
		}
	}
}

// Check imports a file and reports rows that a dataset must not hold.
func Check(t *testing.T, f importers.Format, o importers.Options, path string, data []byte) {
	t.Helper()
	for p, err := range All(f, importerFile(f, path, data, &o)) {
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if p.Err != nil && strings.Contains(p.Err.Error(), "please report") {
			t.Errorf("%s: %v", p.At(), p.Err)
		}
		for i := range p.Items {
			sound(t, &p.Items[i].Row)
		}
	}
}

// sound reports columns that are not what their readers expect.
func sound(t *testing.T, row *formats.Trajectory) {
	t.Helper()
	for name, text := range map[string]string{"example": row.Example, "metadata": row.Metadata} {
		var object map[string]any
		if name == "metadata" && text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Errorf("%s %q: %v", name, text, err)
		}
	}
	for _, tools := range row.ToolSets {
		var list []any
		if err := json.Unmarshal([]byte(tools), &list); err != nil {
			t.Errorf("tools %q: %v", tools, err)
		}
	}
	for i, m := range row.Messages {
		if m.ContentParts != "" && !json.Valid([]byte(m.ContentParts)) {
			t.Errorf("message %d: content_parts %q", i, m.ContentParts)
		}
	}
	for _, c := range row.Calls {
		if !json.Valid([]byte(c.Sampling)) {
			t.Errorf("sampling %q", c.Sampling)
		}
	}
}

// Fuzz imports whatever the fuzzer makes of the seeds. name has the extension of
// the files.
func Fuzz(f *testing.F, format importers.Format, o importers.Options, name string, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { Check(t, format, o, name, data) })
}

// Seeds returns the content of files, cut to a size that a fuzzer can work with.
func Seeds(f *testing.F, limit int, paths ...string) (seeds [][]byte) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data[:min(len(data), limit)])
	}
	return seeds
}
