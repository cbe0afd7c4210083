package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// built returns a folder with a binary of this module, as a release has it: this
// test.
func built(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rollmill-linux-amd64"), data, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func made(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	scripts = "../../../pipelines/view/static/*.min.*"
	if err := release(folder, "v1.2.3", "2026-11-22", []string{"../../../LICENSE"}); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range []string{"rollmill-v1.2.3-linux-amd64.tar.gz", "rollmill-v1.2.3-linux-amd64.cdx.json", "SHA256SUMS"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

// TestReleaseIsReproducible makes a release of the same binary twice, the second
// time with other times and modes of files.
func TestReleaseIsReproducible(t *testing.T) {
	first, folder := made(t, built(t)), built(t)
	binary := filepath.Join(folder, "rollmill-linux-amd64")
	if err := errors.Join(os.Chmod(binary, 0o755), os.Chtimes(binary, time.Unix(1, 0), time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	second := made(t, folder)
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs", name)
		}
	}
	if n := len(made(t, folder)); n != 3 { // what a release made is no binary for the next
		t.Errorf("%d files", n)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestArchive(t *testing.T) {
	packed, err := gzip.NewReader(bytes.NewReader(made(t, built(t))["rollmill-v1.2.3-linux-amd64.tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.FileInfo().Mode().String()+" "+h.Name)
	}
	if got := strings.Join(names, ", "); got != "-rwxr-xr-x rollmill-v1.2.3-linux-amd64/rollmill, -rw-r--r-- rollmill-v1.2.3-linux-amd64/LICENSE" {
		t.Errorf("the archive has %s", got)
	}
}

// TestBill validates a bill of materials with the schema of CycloneDX, and compares
// its modules with what `go version -m` prints.
func TestBill(t *testing.T) {
	folder := built(t)
	data := made(t, folder)["rollmill-v1.2.3-linux-amd64.cdx.json"]
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(document); err != nil {
		t.Error(err)
	}
	document.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "nonsense"
	if schema(t).Validate(document) == nil {
		t.Error("the schema accepts anything")
	}
	var bill struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(data, &bill); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range bill.Components {
		listed[c.Name] = c.Version
	}
	printed, err := exec.Command("go", "version", "-m", filepath.Join(folder, "rollmill-linux-amd64")).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(printed)) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
			modules++
			if listed[f[1]] != f[2] {
				t.Errorf("%s %s is not in the bill: %q", f[1], f[2], listed[f[1]])
			}
		}
	}
	if modules < 2 || listed["htmx"] == "" || listed["std"] == "" {
		t.Errorf("%d modules, htmx %q, std %q", modules, listed["htmx"], listed["std"])
	}
}

// schema returns the schema of CycloneDX 1.6, which is in the library's module.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	for id, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		content, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("http://cyclonedx.org/schema/"+id, content); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
