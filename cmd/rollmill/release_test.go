package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestRelease checks what make release wrote to the folder RELEASE: the files in
// each archive, and each bill of materials with the schema of CycloneDX, the
// modules that `go version -m` prints and the scripts that view embeds.
func TestRelease(t *testing.T) {
	folder := os.Getenv("RELEASE")
	if folder == "" {
		t.Skip("RELEASE is not set")
	}
	archives, err := filepath.Glob(filepath.Join(folder, "rollmill-*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	schema := billSchema(t)
	var sums []string
	for _, archive := range archives {
		released := strings.TrimSuffix(archive, ".tar.gz")
		name := filepath.Base(released)
		words := strings.Split(name, "-")
		binary := filepath.Join(folder, "rollmill-"+strings.Join(words[len(words)-2:], "-"))
		sums = append(sums, name+".cdx.json", name+".tar.gz")
		t.Run(name, func(t *testing.T) {
			checkArchive(t, archive, name, binary)
			checkBill(t, released+".cdx.json", binary, schema)
		})
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = folder
	slices.Sort(sums)
	want := strings.Join(sums, ": OK\n") + ": OK\n"
	if out, err := check.CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

func checkArchive(t *testing.T, archive, folder, binary string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"LICENCES.txt", "LICENSE", "README.md", "rollmill", "rollmill.bash", "rollmill.zsh"}
	var names []string
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name, inside := strings.CutPrefix(h.Name, folder+"/")
		names = append(names, name)
		mode := map[bool]string{true: "-rwxr-xr-x", false: "-rw-r--r--"}[name == "rollmill"]
		if !inside || h.FileInfo().Mode().String() != mode || h.Uid != 0 || h.Uname != "" {
			t.Errorf("the archive has %+v", h)
		}
		if name == "rollmill" {
			content, err := io.ReadAll(r)
			if built, readErr := os.ReadFile(binary); err != nil || readErr != nil || !bytes.Equal(content, built) {
				t.Errorf("%s is not %s: %v", h.Name, binary, errors.Join(err, readErr))
			}
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
}

func checkBill(t *testing.T, path, binary string, schema *jsonschema.Resolved) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	document["components"].([]any)[0].(map[string]any)["type"] = "nonsense"
	if schema.Validate(document) == nil {
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
	printed, err := exec.Command("go", "version", "-m", binary).Output()
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
	for _, embedded := range append(embeddedScripts(t), "std") {
		if listed[embedded] == "" {
			t.Errorf("%s is not in the bill", embedded)
		}
	}
	if modules < 2 {
		t.Errorf("%d modules", modules)
	}
}

// billSchema returns the schema of CycloneDX 1.6, which is in the module of its
// library.
func billSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/CycloneDX/cyclonedx-go@v0.12.0").Output()
	if err != nil {
		t.Fatal(err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	read := func(name string) *jsonschema.Schema {
		data, err := os.ReadFile(filepath.Join(downloaded.Dir, "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		schema := new(jsonschema.Schema)
		if err := json.Unmarshal(data, schema); err != nil {
			t.Fatal(err)
		}
		return schema
	}
	schema, err := read("bom-1.6.schema.json").Resolve(&jsonschema.ResolveOptions{Loader: func(id *url.URL) (*jsonschema.Schema, error) {
		return read(strings.Replace(path.Base(id.Path), "jsf-0.82.schema.json", "jsf-0.82.schemax.json", 1)), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
